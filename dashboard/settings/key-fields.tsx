import { useQuery } from '@tanstack/react-query'
import { KEY_LIMITS, type ServerKeyLimits } from '#contract/api-keys.ts'
import { useSession } from '../session.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { KEY_ROLES, type KeyRole, LIMIT_LABELS, type LimitTexts } from './keys.ts'
import { keyLimitsQuery } from './queries.ts'

type RoleProps = { value: KeyRole; onChange: (role: KeyRole) => void; problem: unknown }

/** Only owners can assign the role admin. */
export function RoleField({ value, onChange, problem }: RoleProps) {
  const { can } = useSession()
  const roles = (Object.keys(KEY_ROLES) as KeyRole[]).filter((role) => role !== 'admin' || can('own'))
  return (
    <Field label="Role" hint={KEY_ROLES[value].hint} error={fieldError(problem, 'role')}>
      <Select value={value} options={roles.map((role) => ({ value: role, ...KEY_ROLES[role] }))} onChange={onChange} />
    </Field>
  )
}

type LimitsProps = { value: LimitTexts; onChange: (limits: LimitTexts) => void; problem: unknown }

/** Requests per minute by class. Only owners can change them. */
export function LimitFields({ value, onChange, problem }: LimitsProps) {
  const { can } = useSession()
  const { data } = useQuery(keyLimitsQuery)
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="text-sm font-medium">Requests per minute</legend>
      <p className="mt-0.5 text-xs text-faint">
        {can('own')
          ? `Leave a field empty for the limit of the server.${data && data.most > 0 ? ` At most ${data.most}.` : ''}`
          : 'Only owners can change limits.'}
      </p>
      <div className="grid gap-x-4 gap-y-3 sm:grid-cols-2">
        {KEY_LIMITS.map((kind) => (
          <Field key={kind} label={LIMIT_LABELS[kind]} error={fieldError(problem, `limits.${kind}`)}>
            <Input
              inputMode="numeric"
              maxLength={7}
              disabled={!can('own')}
              placeholder={data ? defaultText(data, kind) : ''}
              value={value[kind]}
              onChange={(event) => onChange({ ...value, [kind]: event.target.value })}
            />
          </Field>
        ))}
      </div>
    </fieldset>
  )
}

/** The limit that applies when the field is empty. */
function defaultText({ defaults }: ServerKeyLimits, kind: keyof LimitTexts): string {
  const limit = defaults[kind]
  if (limit === 0) return 'no limit'
  return limit === null ? (kind === 'page' ? 'count as reads' : 'count as writes') : String(limit)
}
