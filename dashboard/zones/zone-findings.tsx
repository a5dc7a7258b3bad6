import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Zone, ZoneFinding } from '#contract/zones.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { fieldError, ProblemNote, ProblemPage } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { HealthBadge } from './health.tsx'
import { findingsQuery, refreshZones, zonePath } from './queries.ts'

/** What is wrong with the zone, with the advice for each. */
export function ZoneFindingsSection({ zone }: { zone: Zone }) {
  const { data, error, refetch } = useQuery(findingsQuery(zone.id))
  const [ignoring, setIgnoring] = useState<ZoneFinding>()
  return (
    <Section title="Findings" hint="A second look some minutes later confirms a finding, and another one ends it.">
      {error && !data ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Skeleton lines={3} />
      ) : data.data.length === 0 ? (
        <p className="text-sm text-faint">
          {zone.checked ? 'Nothing is wrong with this zone.' : 'Waiting for the first look.'}
        </p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {data.data.map((finding) => (
            <Finding
              key={`${finding.code} ${finding.about}`}
              zone={zone}
              finding={finding}
              onIgnore={() => setIgnoring(finding)}
            />
          ))}
        </ul>
      )}
      {ignoring && <IgnoreDialog zone={zone} finding={ignoring} onClose={() => setIgnoring(undefined)} />}
    </Section>
  )
}

type FindingProps = { zone: Zone; finding: ZoneFinding; onIgnore: () => void }

function Finding({ zone, finding, onIgnore }: FindingProps) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const { level, text, advice, since, confirmed, missing_since, ignored, code, about } = finding
  const count = useMutation({
    mutationFn: () => {
      const others = zone.ignored.filter((each) => each.code !== code || (each.about ?? about) !== about)
      return api.patch(zonePath(zone.id), { ignored: others })
    },
    onSuccess: () => void refreshZones(queries),
    onError: (error) => toast.failed(error),
  })
  return (
    <li className="flex flex-col gap-1.5 py-3 first:pt-0 last:pb-0">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-1 basis-72 flex-col gap-1">
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-faint">
            <HealthBadge health={level} />
            <span>
              Since <Time at={since} />
            </span>
            {confirmed === null && <span>Not confirmed yet</span>}
            {missing_since !== null && <span>Not seen by the last look</span>}
            {ignored && <span>Ignored: {ignored.reason}</span>}
          </div>
          <p className="text-sm font-medium break-words">{text}</p>
          <p className="text-sm break-words text-soft">{advice}</p>
        </div>
        {can('write') &&
          (ignored ? (
            <Button size="sm" isBusy={count.isPending} onClick={() => count.mutate()}>
              Stop ignoring
            </Button>
          ) : (
            <Button size="sm" onClick={onIgnore}>
              Ignore…
            </Button>
          ))}
      </div>
    </li>
  )
}

const DAY_MS = 86_400_000
const PERIODS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '', label: 'Always' },
]

type IgnoreDialogProps = { zone: Zone; finding: ZoneFinding; onClose: () => void }

function IgnoreDialog({ zone, finding, onClose }: IgnoreDialogProps) {
  const queries = useQueryClient()
  const [reason, setReason] = useState('')
  const [days, setDays] = useState('30')
  const place = `ignored.${zone.ignored.length}`
  const save = useMutation({
    mutationFn: () => {
      const until = days === '' ? null : new Date(Date.now() + Number(days) * DAY_MS).toISOString()
      const entry = { code: finding.code, about: finding.about, reason: reason.trim(), until }
      return api.patch(zonePath(zone.id), { ignored: [...zone.ignored, entry] })
    },
    onSuccess: () => {
      void refreshZones(queries)
      onClose()
    },
  })
  return (
    <FormDialog
      title="Ignore this finding?"
      description={finding.text}
      submitLabel="Ignore"
      isBusy={save.isPending}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <div className="flex flex-col gap-4">
        <Field label="Reason" error={fieldError(save.error, `${place}.reason`)}>
          <Input value={reason} onChange={(event) => setReason(event.target.value)} maxLength={500} required />
        </Field>
        <Field label="For how long" hint="Then it counts again, if it is still there.">
          <Select value={days} onChange={setDays} options={PERIODS} />
        </Field>
        <ProblemNote problem={save.error} fields={[`${place}.reason`]} />
      </div>
    </FormDialog>
  )
}
