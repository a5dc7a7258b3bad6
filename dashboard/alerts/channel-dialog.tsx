import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Channel, ChannelField, ChannelType } from '#contract/alerts.ts'
import { api } from '../api.ts'
import { ifMatchOf, SaveProblem, type Stored, StoredForm } from '../edit/stored-form.tsx'
import { useSession } from '../session.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input, Switch, TextArea } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'
import { localTimeZone } from '../ui/period.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { channelTypesQuery } from './queries.ts'

type Values = Record<string, string | boolean>

type ChannelDialogProps = { channel?: Channel; onClose: () => void; onCreated?: (channel: Channel) => void }

/** Creates or edits a channel. */
export function ChannelDialog({ channel, onClose, onCreated }: ChannelDialogProps) {
  if (!channel) return <ChannelForm onClose={onClose} onCreated={onCreated} />
  return (
    <StoredForm<Channel> path={`/channels/${channel.id}`} title="Edit channel" onClose={onClose}>
      {(stored) => <ChannelForm stored={stored} onClose={onClose} />}
    </StoredForm>
  )
}

type ChannelFormProps = {
  stored?: Stored<Channel>
  onClose: () => void
  onCreated?: ((channel: Channel) => void) | undefined
}

/** The server defines the fields of each type. */
function ChannelForm({ stored, onClose, onCreated }: ChannelFormProps) {
  const channel = stored?.value
  const { me } = useSession()
  const queries = useQueryClient()
  const { data: types, error } = useQuery(channelTypesQuery)
  const [type, setType] = useState<ChannelType>(channel?.type ?? (me.server.sends_mail ? 'email' : 'slack'))
  const [name, setName] = useState(channel?.name ?? '')
  const [values, setValues] = useState<Values>(() => valuesOf(channel?.settings ?? {}))
  const [hasRule, setHasRule] = useState(true)
  const toast = useToast()
  const info = types?.find((candidate) => candidate.type === type)
  const save = useMutation({
    mutationFn: async ({ overwrites }: { overwrites: boolean }) => {
      const body = { name: name || info!.name, settings: settingsOf(info!.fields, values) }
      if (stored) {
        const path = `/channels/${stored.value.id}`
        return (await api.patchIfMatch<Channel>(path, body, ifMatchOf(stored, overwrites))).value
      }
      const created = await api.post<Channel>('/channels', { ...body, type })
      // The list marks a channel whose rule was refused, for example at the limit of rules.
      if (hasRule) await createRuleOf(created).catch(toast.failed)
      return created
    },
    onSuccess: (saved) => {
      for (const key of ['channels', 'alert rules']) void queries.invalidateQueries({ queryKey: [key] })
      onClose()
      onCreated?.(saved)
    },
  })
  const fields = ['name', 'type', ...(info?.fields.map((field) => `settings.${field.name}`) ?? [])]
  return (
    <FormDialog
      title={channel ? 'Edit channel' : 'New channel'}
      description={info?.help}
      submitLabel={channel ? 'Save' : 'Create channel'}
      isBusy={save.isPending || !info}
      onSubmit={() => save.mutate({ overwrites: false })}
      onClose={onClose}
    >
      {!info ? (
        error ? (
          <ProblemNote problem={error} />
        ) : (
          <Skeleton lines={4} />
        )
      ) : (
        <div className="flex flex-col gap-5">
          {!channel && (
            <Field label="Type">
              <Select
                value={type}
                options={types!.map((option) => ({ value: option.type, label: option.name }))}
                onChange={setType}
              />
            </Field>
          )}
          <Field label="Name" isOptional={!channel} error={fieldError(save.error, 'name')}>
            <Input
              maxLength={250}
              placeholder={info.name}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </Field>
          {info.fields.map((field) => (
            <Setting
              key={`${type} ${field.name}`}
              field={field}
              value={values[field.name]}
              isSet={channel?.settings[field.name] !== undefined}
              error={fieldError(save.error, `settings.${field.name}`)}
              onChange={(value) => setValues({ ...values, [field.name]: value })}
            />
          ))}
          {!channel && (
            <Switch
              label="Alert this channel about all monitors"
              hint={
                hasRule
                  ? `Creates a rule: every failure that lasts ${RULE_DELAY_MINUTES} minutes, and its recovery. You can narrow it under Rules.`
                  : 'Without a rule, this channel receives no alerts.'
              }
              isOn={hasRule}
              onChange={setHasRule}
            />
          )}
          {save.error && (
            <SaveProblem
              problem={save.error}
              fields={fields}
              stored={stored}
              onOverwrite={() => save.mutate({ overwrites: true })}
            />
          )}
        </div>
      )}
    </FormDialog>
  )
}

/** Like the rule that each new organization has. */
const RULE_DELAY_MINUTES = 10

const createRuleOf = ({ id, name }: Channel) =>
  api.post('/alert-rules', {
    name: `All monitors: ${name}`.slice(0, 250),
    channels: [id],
    delay: RULE_DELAY_MINUTES,
    timezone: localTimeZone(),
  })

type SettingProps = {
  field: ChannelField
  value: string | boolean | undefined
  /** The stored value of a secret is not shown. */
  isSet: boolean
  error: string | undefined
  onChange: (value: string | boolean) => void
}

function Setting({ field, value, isSet, error, onChange }: SettingProps) {
  const { label, kind, is_secret, is_required, description, example, max_length } = field
  if (kind === 'boolean') return <Switch label={label} hint={description} isOn={value === true} onChange={onChange} />
  const isStoredSecret = is_secret && isSet
  const hint = isStoredSecret ? 'Stored. Leave empty to keep it.' : (description ?? undefined)
  const text = typeof value === 'string' ? value : ''
  const isLong = kind === 'addresses' || (max_length ?? 0) > 2000
  return (
    <Field label={label} isOptional={!is_required} hint={hint} error={error}>
      {isLong ? (
        <TextArea
          isCode
          placeholder={kind === 'addresses' ? 'One address per line' : (example ?? '')}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      ) : (
        <Input
          isCode
          required={is_required && !isStoredSecret}
          autoComplete="off"
          maxLength={max_length ?? undefined}
          placeholder={isStoredSecret ? '********' : (example ?? '')}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  )
}

const MASK = '********'

const valuesOf = (settings: Record<string, unknown>): Values =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]): [string, string | boolean][] => {
      if (Array.isArray(value)) return [[name, value.join('\n')]]
      if (typeof value === 'boolean') return [[name, value]]
      return value === MASK ? [] : [[name, String(value)]]
    }),
  )

/** Without empty values, so that optional settings get their defaults. */
function settingsOf(fields: readonly ChannelField[], values: Values): Record<string, unknown> {
  const settings = fields.flatMap(({ name, kind }): [string, unknown][] => {
    const value = values[name]
    if (kind === 'boolean') return [[name, value === true]]
    if (typeof value !== 'string' || value.trim() === '') return kind === 'addresses' ? [[name, []]] : []
    return [[name, kind === 'addresses' ? value.split(/[\s,;]+/).filter((address) => address !== '') : value.trim()]]
  })
  return Object.fromEntries(settings)
}
