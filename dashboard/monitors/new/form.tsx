import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { Lookup } from '#contract/dashboard.ts'
import type { Monitor } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { plural } from '#contract/wording.ts'
import { ApiProblem, api, type Page } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Switch } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { fieldError, ProblemNote } from '../../ui/problem.tsx'
import { useToast } from '../../ui/toast.tsx'
import {
  bodyOf,
  createNewGroup,
  groupName,
  type MonitorSettings,
  useGroups,
  useMonitorSettings,
  useReceivingWebhooks,
} from '../settings.ts'
import { newMonitorSummary } from '../text.ts'
import { type Draft, withoutEmptyValues } from './expectation.ts'
import { LiveRecords, type LookupAgain } from './live-records.tsx'
import { SettingsFields } from './settings-fields.tsx'

type FormProps = { lookup: Lookup; group: string | undefined; lookupAgain: LookupAgain }

/** Creates monitors from the live records. */
export function NewMonitorForm({ lookup, group, lookupAgain }: FormProps) {
  const [drafts, setDrafts] = useState<Draft[]>([])
  const [settings, setSettings] = useMonitorSettings(group)
  const { isBusy, problem, clearProblem, save } = useCreateMonitors(lookup, drafts, settings, {
    setDrafts,
    setSettings,
  })
  const existingMonitors = useExistingMonitors(lookup.full_domain)
  const errorAt = (type: MonitorRecordType, path: string) =>
    fieldError(problem, `monitors.${drafts.findIndex((draft) => draft.type === type)}.${path}`)
  return (
    <form onSubmit={save} noValidate className="flex flex-col gap-4">
      <LiveRecords
        lookup={lookup}
        lookupAgain={lookupAgain}
        drafts={drafts}
        onChange={(next) => {
          // Errors refer to the index of a draft.
          if (next.length !== drafts.length) clearProblem()
          setDrafts(next)
        }}
        existingMonitors={existingMonitors}
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
            {problem !== undefined && <ProblemNote problem={problem} fields={shownFields(problem)} />}
            <MonitorSummary lookup={lookup} drafts={drafts} settings={settings} />
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

/** What the monitors will do. */
function MonitorSummary({
  lookup,
  drafts,
  settings,
}: {
  lookup: Lookup
  drafts: readonly Draft[]
  settings: MonitorSettings
}) {
  const groups = useGroups()
  const listeners = useReceivingWebhooks(settings, groups)
  return (
    <p className="text-sm wrap-anywhere text-soft">
      {newMonitorSummary({
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

type Setters = { setDrafts: (drafts: Draft[]) => void; setSettings: (settings: MonitorSettings) => void }

/** Creates all monitors or none, and opens them. */
function useCreateMonitors(lookup: Lookup, drafts: readonly Draft[], settings: MonitorSettings, set: Setters) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { done } = useToast()
  const create = async () => {
    const complete = drafts.map(withoutEmptyValues)
    // Errors of the server refer to the index of the values that were sent.
    set.setDrafts(complete.map((draft) => (draft.values.length === 0 ? { ...draft, values: [''] } : draft)))
    const empty = missingValueErrors(complete)
    if (empty) throw empty
    const settingsWithGroup = await createNewGroup(settings)
    set.setSettings(settingsWithGroup)
    const created = await api.post<Monitor[]>('/monitors/bulk', {
      ...bodyOf(settingsWithGroup),
      ignore: true,
      monitors: complete.map(({ type, values, isExact }) => ({
        full_domain: lookup.full_domain,
        record_type: type,
        expected_value: values,
        is_exact_match: isExact,
        ...waitOf(settingsWithGroup, lookup, complete.length),
      })),
    })
    for (const list of ['monitors', 'groups', 'overview']) void queries.invalidateQueries({ queryKey: [list] })
    const existing = complete.length - created.length
    if (created.length === 0) throw new ApiProblem(409, { error: existingText(existing) })
    if (existing > 0) done(existingText(existing))
    done(
      plural(
        created.length,
        'Monitor created. Zonewatch is checking it now.',
        (number) => `${number} monitors created. Zonewatch is checking them now.`,
      ),
    )
    if (created.length === 1) await navigate({ to: '/monitors/$monitor', params: { monitor: created[0]!.id } })
    else await navigate({ to: '/monitors', search: { search: lookup.full_domain } })
  }
  const save = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    setBusy(true)
    setProblem(undefined)
    try {
      await create()
    } catch (error) {
      setProblem(error)
      // After the errors are rendered.
      setTimeout(() => form.querySelector<HTMLElement>('[aria-invalid=true]')?.focus())
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, problem, clearProblem: () => setProblem(undefined), save }
}

/** Several records of one name share a setup page. */
const waitOf = ({ isWaiting }: MonitorSettings, { full_domain }: Lookup, count: number) => ({
  ...(isWaiting && { until: 'valid' as const }),
  ...(isWaiting && count > 1 && { setup_page: full_domain.slice(0, 100) }),
})

const existingText = (count: number) =>
  count === 1
    ? 'This group already has an identical monitor. No monitor was created.'
    : `This group already has ${count} identical monitors. They were not created again.`

function missingValueErrors(drafts: readonly Draft[]): ApiProblem | undefined {
  const errors = drafts.flatMap(({ values }, index) =>
    values.length === 0 ? [[`monitors.${index}.expected_value.0`, 'Enter at least one expected value.']] : [],
  )
  if (errors.length === 0) return undefined
  return new ApiProblem(400, { errors: Object.fromEntries(errors) })
}

/** The errors that fields show. */
function shownFields(problem: unknown): string[] {
  if (!(problem instanceof ApiProblem)) return []
  return Object.keys(problem.errors).filter((path) => /expected_value|^(group|frequency|name|slug)$/.test(path))
}

function useExistingMonitors(fullDomain: string): ReadonlyMap<MonitorRecordType, string> {
  const { data } = useQuery({
    queryKey: ['monitors', 'of-name', fullDomain],
    queryFn: ({ signal }) => api.get<Page<Monitor>>('/monitors', { full_domain: fullDomain, limit: 100 }, signal),
  })
  return new Map(data?.data.map(({ record_type, id }) => [record_type, id]))
}
