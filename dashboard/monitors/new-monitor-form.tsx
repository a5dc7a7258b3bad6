import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Lookup } from '#contract/dashboard.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { plural } from '#contract/wording.ts'
import { ApiProblem, api, type Page } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Switch } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { type Draft, filled } from './new-expectation.ts'
import { type Again, FoundRecords } from './new-found.tsx'
import {
  bodyOf,
  groupName,
  useGroups,
  useListeners,
  useWatchSettings,
  type WatchSettings,
  withGroupMade,
} from './new-settings.ts'
import { SettingsFields } from './new-settings-fields.tsx'
import { watchSentence } from './new-words.ts'

type FormProps = { lookup: Lookup; group: string | undefined; again: Again }

/** From what was found to monitors. */
export function NewMonitorForm({ lookup, group, again }: FormProps) {
  const [drafts, setDrafts] = useState<Draft[]>([])
  const [settings, setSettings] = useWatchSettings(group)
  const { isBusy, problem, forget, save } = useSaving(lookup, drafts, settings, { setDrafts, setSettings })
  const watched = useWatched(lookup.full_domain)
  const errorAt = (type: MonitorRecordType, path: string) =>
    fieldError(problem, `monitors.${drafts.findIndex((draft) => draft.type === type)}.${path}`)
  return (
    <form onSubmit={save} noValidate className="flex flex-col gap-4">
      <FoundRecords
        lookup={lookup}
        again={again}
        drafts={drafts}
        onChange={(next) => {
          // Problems are counted by place.
          if (next.length !== drafts.length) forget()
          setDrafts(next)
        }}
        watched={watched}
        errorAt={errorAt}
      />
      {drafts.length > 0 && (
        <>
          <Section title="Settings">
            <div className="flex flex-col gap-5">
              <SettingsFields settings={settings} onChange={setSettings} problem={problem} />
              <Switch
                label="Wait for a customer"
                hint="Your customer still has to create these records. You get a public link that shows what to enter, and quick checks for 72 hours."
                isOn={settings.isWaiting}
                onChange={(isWaiting) => setSettings({ ...settings, isWaiting })}
              />
            </div>
          </Section>
          <div className="flex flex-col gap-4 px-1">
            {problem !== undefined && <ProblemNote problem={problem} fields={fieldsOf(problem)} />}
            <Outlook lookup={lookup} drafts={drafts} settings={settings} />
            <div className="flex justify-end">
              <Button type="submit" variant="primary" isBusy={isBusy}>
                {plural(drafts.length, 'Create monitor', (number) => `Create ${number} monitors`)}
              </Button>
            </div>
          </div>
        </>
      )}
    </form>
  )
}

/** What will happen, before it does. */
function Outlook({ lookup, drafts, settings }: { lookup: Lookup; drafts: readonly Draft[]; settings: WatchSettings }) {
  const groups = useGroups()
  const listeners = useListeners(settings, groups)
  return (
    <p className="text-sm wrap-anywhere text-soft">
      {watchSentence({
        name: lookup.full_domain,
        types: drafts.map(({ type }) => type),
        frequency: settings.frequency,
        notify: settings.notify,
        group: groupName(settings, groups),
        listeners,
      })}
      {listeners?.count === 0 && (
        <>
          {' '}
          <Link
            to="/webhooks"
            search={{ open: 'new' }}
            className="rounded-sm text-accent-ink underline underline-offset-2"
          >
            Connect a webhook
          </Link>
        </>
      )}
    </p>
  )
}

type Setters = { setDrafts: (drafts: Draft[]) => void; setSettings: (settings: WatchSettings) => void }

/** Makes all or none, and goes where they are. */
function useSaving(lookup: Lookup, drafts: readonly Draft[], settings: WatchSettings, set: Setters) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { done } = useToast()
  const make = async () => {
    const whole = drafts.map(filled)
    // Places of values in the server's answer are those that were sent.
    set.setDrafts(whole.map((draft) => (draft.values.length === 0 ? { ...draft, values: [''] } : draft)))
    const empty = unfilled(whole)
    if (empty) throw empty
    const ready = await withGroupMade(settings)
    set.setSettings(ready)
    const made = await api.post<Monitor[]>('/monitors/bulk', {
      ...bodyOf(ready),
      ignore: true,
      monitors: whole.map(({ type, values, isExact }) => ({
        full_domain: lookup.full_domain,
        record_type: type,
        expected_value: values,
        is_exact_match: isExact,
        ...waitOf(ready, lookup, whole.length),
      })),
    })
    for (const list of ['monitors', 'groups', 'overview']) void queries.invalidateQueries({ queryKey: [list] })
    const known = whole.length - made.length
    if (made.length === 0) throw new ApiProblem(409, { error: alreadyThere(known) })
    if (known > 0) done(alreadyThere(known))
    done(
      plural(
        made.length,
        'Monitor created. Zonewatch is checking it now.',
        (number) => `${number} monitors created. Zonewatch is checking them now.`,
      ),
    )
    if (made.length === 1) await navigate({ to: '/monitors/$monitor', params: { monitor: made[0]!.id } })
    else await navigate({ to: '/monitors', search: { search: lookup.full_domain } })
  }
  const save = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    setBusy(true)
    setProblem(undefined)
    try {
      await make()
    } catch (error) {
      setProblem(error)
      // After the fields were marked.
      setTimeout(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, problem, forget: () => setProblem(undefined), save }
}

/** Several records of one name are on one page. */
const waitOf = ({ isWaiting }: WatchSettings, { full_domain }: Lookup, count: number) => ({
  ...(isWaiting && { until: 'valid' as const }),
  ...(isWaiting && count > 1 && { setup_page: full_domain.slice(0, 100) }),
})

/** A second one that asks for the same and expects the same in the same group tells nothing new. */
const alreadyThere = (count: number) =>
  count === 1
    ? 'This group already has an identical monitor. No monitor was created.'
    : `This group already has ${count} identical monitors. They were not created again.`

function unfilled(drafts: readonly Draft[]): ApiProblem | undefined {
  const errors = drafts.flatMap(({ values }, at) =>
    values.length === 0 ? [[`monitors.${at}.expected_value.0`, 'Enter at least one expected value.']] : [],
  )
  if (errors.length === 0) return undefined
  return new ApiProblem(400, { errors: Object.fromEntries(errors) })
}

/** What stands at fields already. */
function fieldsOf(problem: unknown): string[] {
  if (!(problem instanceof ApiProblem)) return []
  return Object.keys(problem.errors).filter((path) => /expected_value|^(group|frequency|name|slug)$/.test(path))
}

function useWatched(fullDomain: string): ReadonlyMap<MonitorRecordType, string> {
  const { data } = useQuery({
    queryKey: ['monitors', 'of-name', fullDomain],
    queryFn: ({ signal }) => api.get<Page<Monitor>>('/monitors', { full_domain: fullDomain, limit: 100 }, signal),
  })
  return new Map(data?.data.map(({ record_type, id }) => [record_type, id]))
}
