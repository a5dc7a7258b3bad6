import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Organization, OrganizationChange } from '#contract/organization.ts'
import { ApiProblem, type Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { Opened } from '../edit/loaded-form.tsx'
import { type Fields, isSame, sameSet } from '../edit/rebase.ts'
import { useEdit } from '../edit/use-edit.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Combobox } from '../ui/combobox.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Field, Input, TextArea } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { addressesOf } from './addresses.ts'
import { LogoField } from './logo-field.tsx'
import { OnlyReading } from './only-reading.tsx'

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
const PATHS = ['name', 'slug', 'settings.timezone', 'settings.event_retention_days', 'settings.logo']

type Values = { name: string; slug: string; timezone: string; days: string; emails: string; logo: string }
const FIELDS: Fields<Values> = {
  name: { label: 'Name', text: (name) => name },
  slug: { label: 'Short name', text: (slug) => slug },
  timezone: { label: 'Time zone', text: (timezone) => timezone },
  days: { label: 'Keep events for', text: (days) => (days === '' ? 'as long as the plan allows' : `${days} days`) },
  emails: {
    label: 'Alert emails',
    text: (emails) => addressesOf(emails).join(', '),
    same: (one, other) => sameSet(addressesOf(one), addressesOf(other)),
  },
  logo: { label: 'Logo', text: (logo) => (logo === '' ? 'none' : 'an image') },
}

export function OrganizationSettings() {
  return (
    <Section className="max-w-2xl">
      <Opened<Organization> path="/organization">{(opened) => <Form opened={opened} />}</Opened>
    </Section>
  )
}

function Form({ opened }: { opened: Versioned<Organization> }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const edit = useEdit(opened, { path: '/organization', fields: FIELDS, formOf, changeOf })
  const { form, set, problem } = edit
  const [sent, setSent] = useState('')
  const save = async () => {
    setSent(form.emails)
    if (!(await edit.save())) return
    void queries.invalidateQueries({ queryKey: ['organization'] })
    void queries.invalidateQueries({ queryKey: ME })
    toast.done('Settings saved.')
  }
  const [isAsking, setAsking] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (keepsLess(formOf(edit.base).days, form.days)) setAsking(true)
    else void save()
  }
  const mayNot = !can('manage')
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      {mayNot && <OnlyReading who="admins and owners" />}
      <ConflictNote {...edit} fields={FIELDS} />
      <Field label="Name" error={fieldError(problem, 'name')}>
        <Input
          required
          maxLength={250}
          disabled={mayNot}
          value={form.name}
          onChange={(event) => set({ name: event.target.value })}
        />
      </Field>
      <Field
        label="Short name"
        hint="Identifies the organization on the command line. Lowercase letters, digits and hyphens."
        error={fieldError(problem, 'slug')}
      >
        <Input
          isCode
          required
          maxLength={100}
          disabled={mayNot}
          value={form.slug}
          onChange={(event) => set({ slug: event.target.value })}
        />
      </Field>
      <Field
        label="Time zone"
        hint="Used in emails. The dashboard shows times in the time zone of your device."
        error={fieldError(problem, 'settings.timezone')}
      >
        <Combobox
          value={form.timezone}
          options={ZONES.includes(form.timezone) ? ZONES : [form.timezone, ...ZONES]}
          onChange={(timezone) => set({ timezone })}
          empty="Unknown time zone."
          isDisabled={mayNot}
        />
      </Field>
      <Field
        label="Keep events for"
        hint="In days. Older events are deleted permanently. Leave empty to keep events as long as the plan allows."
        error={fieldError(problem, 'settings.event_retention_days')}
      >
        <Input
          type="number"
          inputMode="numeric"
          min={1}
          max={36_500}
          disabled={mayNot}
          placeholder="As long as the plan allows"
          value={form.days}
          onChange={(event) => set({ days: event.target.value })}
        />
      </Field>
      <Field
        label="Alert emails"
        isOptional
        hint="Receive an email when a webhook is paused and when it is active again, in addition to the owners. One address per line, at most 20."
        error={emailError(problem, sent)}
      >
        <TextArea
          isCode
          rows={3}
          disabled={mayNot}
          placeholder={mayNot ? '' : 'operations@example.com'}
          value={form.emails}
          onChange={(event) => set({ emails: event.target.value })}
        />
      </Field>
      <LogoField
        value={form.logo}
        onChange={(logo) => set({ logo })}
        error={fieldError(problem, 'settings.logo')}
        isDisabled={mayNot}
      />
      {problem !== undefined && <ProblemNote problem={problem} fields={[...PATHS, ...emailFields(sent)]} />}
      {!mayNot && (
        <div className="flex justify-end">
          <Button type="submit" variant="primary" isBusy={edit.isBusy} disabled={!edit.isChanged}>
            Save
          </Button>
        </div>
      )}
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Shorten event retention?"
        confirmLabel="Save"
        isDangerous
        // What is refused stands at its field.
        onConfirm={save}
      >
        Events older than {form.days} {form.days === '1' ? 'day' : 'days'} will be deleted permanently.
      </Confirm>
    </form>
  )
}

const formOf = ({ name, slug, settings }: Organization): Values => ({
  name,
  slug,
  timezone: settings.timezone,
  days: settings.event_retention_days?.toString() ?? '',
  emails: settings.alert_emails.join('\n'),
  logo: settings.logo ?? '',
})

function changeOf(organization: Organization, form: Values): OrganizationChange {
  const was = formOf(organization)
  const differs = (name: keyof Values) => !isSame(FIELDS, name, was, form)
  const settings = {
    ...(differs('timezone') ? { timezone: form.timezone } : {}),
    ...(differs('days') ? { event_retention_days: form.days === '' ? null : Number(form.days) } : {}),
    ...(differs('emails') ? { alert_emails: addressesOf(form.emails) } : {}),
    ...(differs('logo') ? { logo: form.logo === '' ? null : form.logo } : {}),
  }
  return {
    ...(differs('name') ? { name: form.name } : {}),
    ...(differs('slug') ? { slug: form.slug } : {}),
    ...(Object.keys(settings).length > 0 ? { settings } : {}),
  }
}

/** Empty: as long as the plan allows. */
const keepsLess = (before: string, now: string) => now !== '' && (before === '' || Number(now) < Number(before))

const EMAILS = 'settings.alert_emails'
const emailFields = (emails: string) => [EMAILS, ...addressesOf(emails).map((_, at) => `${EMAILS}.${at}`)]

/** Says which of the addresses is wrong. */
function emailError(problem: unknown, emails: string): string | undefined {
  const wrong = addressesOf(emails).flatMap((address, at) => {
    const sentence = problem instanceof ApiProblem ? problem.errors[`${EMAILS}.${at}`] : undefined
    return sentence === undefined ? [] : [`"${address}" ${sentence}`]
  })
  return wrong.length > 0 ? wrong.join(' ') : fieldError(problem, EMAILS)
}
