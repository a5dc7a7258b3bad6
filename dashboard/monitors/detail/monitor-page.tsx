import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { recordName } from '#contract/wording.ts'
import { Page, Section, Skeleton } from '../../ui/page.tsx'
import { ProblemPage } from '../../ui/problem.tsx'
import { Badge } from '../../ui/state.tsx'
import { Time } from '../../ui/time.tsx'
import { type MonitorDetails, monitorPath, monitorQuery, useRefresh } from '../queries.ts'
import { MonitorActions } from './actions.tsx'
import { MonitorAlertRules } from './alert-rules.tsx'
import { useChecking } from './checking.ts'
import { MonitorEvent } from './event.tsx'
import { EvidenceDate } from './evidence-date.tsx'
import { MonitorHistory } from './history.tsx'
import { MonitorIncident } from './incident.tsx'
import { MonitorRecords } from './records.tsx'
import { MonitorVerdict } from './verdict.tsx'
import { MonitorWait } from './wait.tsx'

const Evidence = lazy(async () => ({ default: (await import('./evidence.tsx')).Evidence }))
const DelegationPicture = lazy(async () => ({ default: (await import('./delegation.tsx')).DelegationPicture }))
const ServerMatrix = lazy(async () => ({ default: (await import('./server-matrix.tsx')).ServerMatrix }))
const MonitorTimeline = lazy(async () => ({ default: (await import('./timeline.tsx')).MonitorTimeline }))
const LabelsSection = lazy(async () => ({ default: (await import('../../labels/labels-section.tsx')).LabelsSection }))
const MaintenanceNote = lazy(async () => ({
  default: (await import('../../planned-changes/of-monitor.tsx')).MaintenanceNote,
}))
const UptimeSection = lazy(async () => ({ default: (await import('../../uptime/section.tsx')).UptimeSection }))
const MonitorZone = lazy(async () => ({ default: (await import('../../zones/monitor-zone.tsx')).MonitorZone }))
const MonitorPlanned = lazy(async () => ({
  default: (await import('../../planned-changes/of-monitor.tsx')).MonitorPlanned,
}))

const back = { to: '/monitors', label: 'Monitors' } as const

export function MonitorPage() {
  const { monitor: id } = useParams({ from: '/signed-in/monitors/$monitor' })
  const { data, error, isPending, refetch } = useQuery(monitorQuery(id))
  const checking = useChecking(data?.monitor)
  const refresh = useRefresh()
  if (isPending) return <LoadingPage />
  // After a failed refresh the last data stay visible, unless the monitor was deleted.
  if (!data || (error && 'status' in error && error.status === 404)) {
    return (
      <Page title="Monitor" back={back}>
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  const { monitor, difference } = data
  return (
    <Page
      title={`${recordName(monitor)} ${monitor.record_type}`}
      heading={<MonitorName monitor={monitor} />}
      lead={<MonitorFacts monitor={monitor} />}
      back={back}
      actions={<MonitorActions monitor={monitor} checking={checking} />}
    >
      <div className="flex flex-col gap-4">
        <Suspense>
          <MaintenanceNote monitor={monitor} />
        </Suspense>
        <MonitorVerdict monitor={monitor} checking={checking} />
        <MonitorIncident monitor={monitor} />
        {monitor.wait && <MonitorWait monitor={monitor} wait={monitor.wait} />}
        <Suspense>
          <MonitorPlanned monitor={monitor} />
        </Suspense>
        <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-4 xl:grid-cols-[minmax(0,11fr)_minmax(0,13fr)]">
          <MonitorRecords monitor={monitor} difference={difference} />
          <Suspense>
            <ServerMatrix monitor={monitor} />
          </Suspense>
        </div>
        <MonitorDelegation monitor={monitor} />
        <Suspense>{monitor.domain.includes('.') && <MonitorZone domain={monitor.domain} />}</Suspense>
        <Suspense>
          <UptimeSection path={monitorPath(id)} />
        </Suspense>
        <Suspense>
          <MonitorTimeline monitor={monitor} />
        </Suspense>
        <Suspense>
          <LabelsSection labels={monitor} path={monitorPath(id)} linksTags onSaved={refresh} />
        </Suspense>
        <MonitorAlertRules id={id} />
        {monitor.diagnosis && (monitor.diagnosis.paths.length > 0 || !monitor.diagnosis.latest) && (
          <Section
            title="Evidence"
            hint={
              <>
                The servers Zonewatch queried and their answers.{' '}
                <EvidenceDate at={monitor.diagnosis.at} lastChecked={monitor.last_checked} />
              </>
            }
            isFlush
          >
            <Suspense fallback={<Skeleton lines={4} className="p-4" />}>
              <Evidence paths={monitor.diagnosis.paths} />
            </Suspense>
          </Section>
        )}
        {monitor.diagnosis?.latest && (
          <Section
            title={monitor.diagnosis.pending ? 'Latest check' : 'Latest confirmation'}
            hint={
              <>
                {monitor.diagnosis.pending
                  ? 'What was seen so far. It is not certain yet.'
                  : `The latest check that sent more than one query and found no change. ${monitor.diagnosis.latest.decided}`}{' '}
                <EvidenceDate at={monitor.diagnosis.latest.at} />
              </>
            }
            isFlush
          >
            <Suspense fallback={<Skeleton lines={4} className="p-4" />}>
              <Evidence paths={monitor.diagnosis.latest.paths} />
            </Suspense>
          </Section>
        )}
        <MonitorHistory monitor={monitor} />
      </div>
      <MonitorEvent monitor={id} />
    </Page>
  )
}

/** By the latest evidence that has the delegation. */
function MonitorDelegation({ monitor }: { monitor: MonitorDetails }) {
  const { diagnosis, state } = monitor
  const evidence = [diagnosis?.latest, diagnosis].find((each) => each?.delegation)
  if (!diagnosis || !evidence) return null
  return (
    <Section
      title="Delegation"
      hint={
        <>
          Who answers for the name, and what. <EvidenceDate at={evidence.at} />
        </>
      }
      isFlush
    >
      <Suspense fallback={<Skeleton lines={6} className="p-4" />}>
        <DelegationPicture
          evidence={evidence}
          name={recordName(monitor)}
          isValid={state === 'UNSET' || diagnosis.pending ? undefined : state === 'VALID'}
          warnings={diagnosis.warnings}
        />
      </Suspense>
    </Section>
  )
}

function LoadingPage() {
  return (
    <Page
      title="Monitor"
      heading={
        <>
          <span className="sr-only">Monitor</span>
          <span className="skeleton inline-block h-7 w-64 max-w-full align-middle" />
        </>
      }
      lead={<span className="skeleton inline-block h-4 w-96 max-w-full align-middle" />}
      back={back}
    >
      <div className="flex flex-col gap-4">
        <Section className="h-52">
          <Skeleton lines={3} />
        </Section>
        <Section className="h-36">
          <Skeleton lines={2} />
        </Section>
        <Section className="h-44">
          <Skeleton lines={2} />
        </Section>
      </div>
    </Page>
  )
}

function MonitorName({ monitor }: { monitor: MonitorDetails }) {
  const { domain, subdomain, record_type } = monitor
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="font-mono text-[0.95em] break-all">
        {subdomain}
        {subdomain !== '' && domain !== '.' && <span className="text-faint">.</span>}
        {(subdomain === '' || domain !== '.') && (
          <span className={subdomain === '' ? undefined : 'text-soft'}>{domain}</span>
        )}
      </span>
      <span className="rounded-md border border-line bg-surface px-1.5 font-mono text-sm font-medium text-soft">
        {record_type}
      </span>
      {!monitor.is_active && <Badge tone="idle" label="Disabled" />}
      <span className="sr-only">{recordName(monitor)}</span>
    </span>
  )
}

/** Last check, interval, group and notifications in one line. */
function MonitorFacts({ monitor }: { monitor: MonitorDetails }) {
  const { is_active, frequency, group, last_checked, notify } = monitor
  return (
    <ul className="flex flex-wrap gap-x-1.5 *:after:ml-1.5 *:after:content-['·'] *:last:after:content-none">
      <li>
        {last_checked === null ? (
          'Never checked'
        ) : (
          <>
            Checked <Time at={last_checked} />
          </>
        )}
      </li>
      <li>{is_active ? `every ${frequency} minutes` : 'not checked while disabled'}</li>
      {group !== undefined && (
        <li>
          group{' '}
          <Link
            to="/groups/$group"
            params={{ group }}
            className="rounded-sm text-soft underline-offset-2 hover:underline"
          >
            {group}
          </Link>
        </li>
      )}
      <li>{NOTIFY_TEXT[notify]}</li>
    </ul>
  )
}

const NOTIFY_TEXT: Record<MonitorDetails['notify'], string> = {
  immediately: 'webhooks receive every change',
  on_success: 'webhooks receive changes to valid',
  after_success: 'webhooks receive changes from valid',
}
