import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Organization, OrganizationChange } from '#contract/organization.ts'
import { ApiProblem, type Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import { type Fields, sameSet } from '../edit/rebase.ts'
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
import { ReadOnlyNote } from './read-only-note.tsx'

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
const PATHS = ['name', 'slug', 'settings.timezone', 'settings.event_retention_days', 'settings.logo']

type Values = { name: string; slug: string; timezone: string; days: string; emails: string; logo: string }
const FIELDS: Fields<Values, OrganizationChange> = {
  name: { label: 'Name', text: (name) => name },
  slug: { label: 'Short name', text: (slug) => slug },
  timezone: {
    label: 'Time zone',
    text: (timezone) => timezone,
    change: ({ timezone }) => ({ settings: { timezone } }),
  },
  days: {
    label: 'Keep events for',
    text: (days) => (days === '' ? 'as long as the plan allows' : `${days} days`),
    change: ({ days }) => ({ settings: { event_retention_days: days === '' ? null : Number(days) } }),
  },
  emails: {
    label: 'Alert emails',
    text: (emails) => addressesOf(emails).join(', '),
    same: (one, other) => sameSet(addressesOf(one), addressesOf(other)),
    change: ({ emails }) => ({ settings: { alert_emails: addressesOf(emails) } }),
  },
  logo: {
    label: 'Logo',
    text: (logo) => (logo === '' ? 'none' : 'an image'),
    change: ({ logo }) => ({ settings: { logo: logo === '' ? null : logo } }),
  },
}

export function OrganizationSettings() {
  return (
    <Section className="max-w-2xl">
      <LoadResource<Organization> path="/organization">{(opened) => <Form opened={opened} />}</LoadResource>
    </Section>
  )
}

function Form({ opened }: { opened: Versioned<Organization> }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const edit = useEdit(opened, { path: '/organization', fields: FIELDS, formOf })
  const { form, set, problem } = edit
  const [sentEmails, setSentEmails] = useState('')
  const save = async () => {
    setSentEmails(form.emails)
    if (!(await edit.save())) return
    void queries.invalidateQueries({ queryKey: ['organization'] })
    void queries.invalidateQueries({ queryKey: ME })
    toast.done('Settings saved.')
  }
  const [isConfirming, setConfirming] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (shortensRetention(formOf(edit.base).days, form.days)) setConfirming(true)
    else void save()
  }
  const isReadOnly = !can('manage')
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      {isReadOnly && <ReadOnlyNote who="admins and owners" />}
      <ConflictNote {...edit} fields={FIELDS} />
      <Field label="Name" error={fieldError(problem, 'name')}>
        <Input
          required
          maxLength={250}
          disabled={isReadOnly}
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
          disabled={isReadOnly}
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
          isDisabled={isReadOnly}
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
          disabled={isReadOnly}
          placeholder="As long as the plan allows"
          value={form.days}
          onChange={(event) => set({ days: event.target.value })}
        />
      </Field>
      <Field
        label="Alert emails"
        isOptional
        hint="Receive an email when a webhook is paused and when it is active again, in addition to the owners. One address per line, at most 20."
        error={emailError(problem, sentEmails)}
      >
        <TextArea
          isCode
          rows={3}
          disabled={isReadOnly}
          placeholder={isReadOnly ? '' : 'operations@example.com'}
          value={form.emails}
          onChange={(event) => set({ emails: event.target.value })}
        />
      </Field>
      <LogoField
        value={form.logo}
        onChange={(logo) => set({ logo })}
        error={fieldError(problem, 'settings.logo')}
        isDisabled={isReadOnly}
      />
      {problem !== undefined && <ProblemNote problem={problem} fields={[...PATHS, ...emailFields(sentEmails)]} />}
      {!isReadOnly && (
        <div className="flex justify-end">
          <Button type="submit" variant="primary" isBusy={edit.isBusy} disabled={!edit.isChanged}>
            Save
          </Button>
        </div>
      )}
      <Confirm
        isOpen={isConfirming}
        onClose={() => setConfirming(false)}
        title="Shorten event retention?"
        confirmLabel="Save"
        isDangerous
        // The fields show the errors.
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

/** Empty means as long as the plan allows. */
const shortensRetention = (before: string, now: string) => now !== '' && (before === '' || Number(now) < Number(before))

const EMAILS = 'settings.alert_emails'
const emailFields = (emails: string) => [EMAILS, ...addressesOf(emails).map((_, index) => `${EMAILS}.${index}`)]

/** The errors of single addresses. */
function emailError(problem: unknown, emails: string): string | undefined {
  const errors = addressesOf(emails).flatMap((address, index) => {
    const message = problem instanceof ApiProblem ? problem.errors[`${EMAILS}.${index}`] : undefined
    return message === undefined ? [] : [`"${address}" ${message}`]
  })
  return errors.length > 0 ? errors.join(' ') : fieldError(problem, EMAILS)
}
