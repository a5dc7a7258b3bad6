import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Organization, OrganizationChange } from '#contract/organization.ts'
import { ApiProblem, api } from '../api.ts'
import { ME, useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Combobox } from '../ui/combobox.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Field, Input, TextArea } from '../ui/field.tsx'
import { Bones, Section } from '../ui/page.tsx'
import { fieldError, ProblemNote, ProblemPage } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { addressesOf } from './addresses.ts'
import { OnlyReading } from './only-reading.tsx'
import { organizationQuery } from './queries.ts'

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
const FIELDS = ['name', 'slug', 'settings.timezone', 'settings.event_retention_days']

export function OrganizationSettings() {
  const { data, error, refetch } = useQuery(organizationQuery)
  return (
    <Section className="max-w-2xl">
      {data ? (
        // What others changed meanwhile begins the form anew.
        <Form key={JSON.stringify(data)} organization={data} />
      ) : error ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : (
        <Bones lines={8} />
      )}
    </Section>
  )
}

function Form({ organization: { name, slug, settings } }: { organization: Organization }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const before = {
    name,
    slug,
    timezone: settings.timezone,
    days: settings.event_retention_days?.toString() ?? '',
    emails: settings.alert_emails.join('\n'),
  }
  const [form, setForm] = useState(before)
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change })
  const isChanged = JSON.stringify(form) !== JSON.stringify(before)
  const save = useMutation({
    mutationFn: (values: Values) => api.patch<Organization>('/organization', changeOf(values)),
    onSuccess: (saved) => {
      queries.setQueryData(organizationQuery.queryKey, saved)
      void queries.invalidateQueries({ queryKey: ['organization'] })
      void queries.invalidateQueries({ queryKey: ME })
      toast.done('The settings are saved.')
    },
  })
  const [isAsking, setAsking] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (keepsLess(before.days, form.days)) setAsking(true)
    else save.mutate(form)
  }
  const mayNot = !can('manage')
  const problem = save.error
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      {mayNot && <OnlyReading who="Admins and owners" />}
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
        hint="Names the organization on the command line. Lower-case letters, digits and hyphens."
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
        hint="For what is written to people. This dashboard shows times in the zone of your device."
        error={fieldError(problem, 'settings.timezone')}
      >
        <Combobox
          value={form.timezone}
          options={ZONES.includes(form.timezone) ? ZONES : [form.timezone, ...ZONES]}
          onChange={(timezone) => set({ timezone })}
          empty="No time zone has this name."
          isDisabled={mayNot}
        />
      </Field>
      <Field
        label="Keep events for"
        hint="Days; older events are deleted for good. Empty: as long as the plan allows."
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
        label="Alert e-mails"
        isOptional
        hint="Told beside the owners when a webhook is paused, and when it is active again. One a line, at most 20."
        error={emailError(problem, save.variables?.emails ?? '')}
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
      {problem && <ProblemNote problem={problem} fields={[...FIELDS, ...emailFields(save.variables?.emails ?? '')]} />}
      {!mayNot && (
        <div className="flex justify-end">
          <Button type="submit" look="primary" isBusy={save.isPending} disabled={!isChanged}>
            Save
          </Button>
        </div>
      )}
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Keep events for less time?"
        act="Save"
        isDangerous
        // What is refused stands at its field.
        onConfirm={() => save.mutateAsync(form).catch(() => {})}
      >
        Events older than {form.days} {form.days === '1' ? 'day' : 'days'} are deleted soon, and cannot be brought back.
      </Confirm>
    </form>
  )
}

type Values = { name: string; slug: string; timezone: string; days: string; emails: string }

const changeOf = ({ name, slug, timezone, days, emails }: Values): OrganizationChange => ({
  name,
  slug,
  settings: {
    timezone,
    event_retention_days: days === '' ? null : Number(days),
    alert_emails: addressesOf(emails),
  },
})

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
