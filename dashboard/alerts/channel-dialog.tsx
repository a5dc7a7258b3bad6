import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Channel, ChannelChange, ChannelField, ChannelType, ChannelTypeInfo } from '#contract/alerts.ts'
import { api } from '../api.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { type FormState, NewDialog } from '../edit/new-dialog.tsx'
import type { Fields } from '../edit/rebase.ts'
import { useSession } from '../session.tsx'
import { Field, Input, Switch, TextArea } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'
import { localTimeZone } from '../ui/period.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { channelTypesQuery } from './queries.ts'

type Values = Record<string, string | boolean>

type Form = { name: string; values: Values; hasRule: boolean }

type Settings = Pick<Form, 'name' | 'values'>
const formOf = ({ name, settings }: Channel): Settings => ({ name, values: valuesOf(settings) })

const fieldsOf = (info: ChannelTypeInfo | undefined): Fields<Settings, ChannelChange> => ({
  name: { label: 'Name', text: (name) => name },
  values: {
    label: 'Settings',
    text: (values) => settingsText(info?.fields ?? [], values),
    change: ({ values }) => ({ settings: settingsOf(info?.fields ?? [], values) }),
  },
})

type ChannelDialogProps = { channel?: Channel; onClose: () => void; onCreated?: (channel: Channel) => void }

/** Creates or edits a channel. The server defines the fields of each type. */
export function ChannelDialog({ channel, onClose, onCreated }: ChannelDialogProps) {
  const { me } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const { data: types, error } = useQuery(channelTypesQuery)
  const [type, setType] = useState<ChannelType>(channel?.type ?? (me.server.sends_mail ? 'email' : 'slack'))
  const info = types?.find((candidate) => candidate.type === type)
  const paths = ['name', ...(info?.fields.map(({ name }) => `settings.${name}`) ?? [])]
  const shared = { description: info?.help, paths, onClose }
  const refresh = () => {
    for (const key of ['channels', 'alert rules']) void queries.invalidateQueries({ queryKey: [key] })
  }
  const waiting = error ? <ProblemNote problem={error} /> : <Skeleton lines={4} />
  if (channel)
    return (
      <EditDialog
        {...shared}
        title="Edit channel"
        path={`/channels/${channel.id}`}
        fields={fieldsOf(info)}
        formOf={formOf}
        onSaved={refresh}
      >
        {(edit) => (info ? <SettingFields {...edit} info={info} stored={edit.base} /> : waiting)}
      </EditDialog>
    )
  const create = async ({ name, values, hasRule }: Form) => {
    if (!info) throw error ?? new Error('The types of channels are not loaded.')
    const settings = settingsOf(info.fields, values)
    const created = await api.post<Channel>('/channels', { type, name: name || info.name, settings })
    // The list marks a channel whose rule was refused, for example at the limit of rules.
    if (hasRule) await createRuleOf(created).catch(toast.failed)
    return created
  }
  return (
    <NewDialog
      {...shared}
      title="New channel"
      submitLabel="Create channel"
      initial={{ name: '', values: {}, hasRule: true }}
      create={create}
      onCreated={(created) => {
        refresh()
        onCreated?.(created)
      }}
    >
      {(state) =>
        info ? (
          <>
            <Field label="Type">
              <Select
                value={type}
                options={types!.map((option) => ({ value: option.type, label: option.name }))}
                onChange={setType}
              />
            </Field>
            <SettingFields {...state} info={info} />
            <Switch
              label="Alert this channel about all monitors"
              hint={
                state.form.hasRule
                  ? `Creates a rule: every failure that lasts ${RULE_DELAY_MINUTES} minutes, and its recovery. You can narrow it under Rules.`
                  : 'Without a rule, this channel receives no alerts.'
              }
              isOn={state.form.hasRule}
              onChange={(hasRule) => state.set({ hasRule })}
            />
          </>
        ) : (
          waiting
        )
      }
    </NewDialog>
  )
}

type FieldsProps = FormState<Settings> & { info: ChannelTypeInfo; stored?: Channel }

function SettingFields({ form: { name, values }, set, problem, info, stored }: FieldsProps) {
  return (
    <>
      <Field label="Name" isOptional={!stored} error={fieldError(problem, 'name')}>
        <Input
          maxLength={250}
          placeholder={info.name}
          value={name}
          onChange={(event) => set({ name: event.target.value })}
        />
      </Field>
      {info.fields.map((field) => (
        <Setting
          key={`${info.type} ${field.name}`}
          field={field}
          value={values[field.name]}
          isSet={stored?.settings[field.name] !== undefined}
          error={fieldError(problem, `settings.${field.name}`)}
          onChange={(value) => set({ values: { ...values, [field.name]: value } })}
        />
      ))}
    </>
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

/** Without secrets. */
const settingsText = (fields: readonly ChannelField[], values: Values): string =>
  fields
    .filter(({ is_secret, name }) => !is_secret && (values[name] ?? '') !== '')
    .map(({ label, name }) => `${label}: ${String(values[name]).replaceAll('\n', ', ')}`)
    .join('\n')
