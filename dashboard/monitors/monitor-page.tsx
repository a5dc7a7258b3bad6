import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { nameOf } from '../events/event-change.tsx'
import { Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { MonitorActions } from './monitor-actions.tsx'
import { MonitorAlertRules } from './monitor-alert-rules.tsx'
import { useChecking } from './monitor-checking.ts'
import { MonitorEvent } from './monitor-event.tsx'
import { Evidence, EvidenceDate } from './monitor-evidence.tsx'
import { MonitorFacts, MonitorName } from './monitor-header.tsx'
import { MonitorHistory } from './monitor-history.tsx'
import { monitorPath, monitorQuery, useRefresh } from './monitor-queries.ts'
import { MonitorRecords } from './monitor-records.tsx'
import { MonitorTimeline } from './monitor-timeline.tsx'
import { MonitorVerdict } from './monitor-verdict.tsx'
import { MonitorWait } from './monitor-wait.tsx'

const LabelsSection = lazy(async () => ({ default: (await import('../labels/labels-section.tsx')).LabelsSection }))
const MaintenanceNote = lazy(async () => ({ default: (await import('./monitor-planned.tsx')).MaintenanceNote }))
const MonitorPlanned = lazy(async () => ({ default: (await import('./monitor-planned.tsx')).MonitorPlanned }))

const back = { to: '/monitors', label: 'Monitors' } as const

export function MonitorPage() {
  const { monitor: id } = useParams({ from: '/signed-in/monitors/$monitor' })
  const { data, error, isPending, refetch } = useQuery(monitorQuery(id))
  const checking = useChecking(data?.monitor)
  const refresh = useRefresh()
  if (isPending) return <Waiting />
  // What was seen last stays on the screen when asking again fails; a monitor that is gone does not.
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
      title={`${nameOf(monitor)} ${monitor.record_type}`}
      heading={<MonitorName monitor={monitor} />}
      lead={<MonitorFacts monitor={monitor} />}
      back={back}
      actions={<MonitorActions monitor={monitor} checking={checking} />}
    >
      <div className="flex flex-col gap-4">
        <Suspense>
          <MaintenanceNote monitor={monitor} />
        </Suspense>
        <MonitorVerdict monitor={monitor} difference={difference} checking={checking} />
        {monitor.wait && <MonitorWait monitor={monitor} wait={monitor.wait} />}
        <Suspense>
          <MonitorPlanned monitor={monitor} />
        </Suspense>
        <MonitorRecords monitor={monitor} difference={difference} />
        <MonitorTimeline monitor={monitor} />
        <Suspense>
          <LabelsSection labels={monitor} path={monitorPath(id)} linksTags onSaved={refresh} />
        </Suspense>
        <MonitorAlertRules id={id} />
        {monitor.diagnosis && (
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
            <Evidence paths={monitor.diagnosis.paths} />
          </Section>
        )}
        {monitor.diagnosis?.latest && (
          <Section
            title="Latest confirmation"
            hint={
              <>
                The latest check that sent more than one query and found no change. {monitor.diagnosis.latest.decided}{' '}
                <EvidenceDate at={monitor.diagnosis.latest.at} />
              </>
            }
            isFlush
          >
            <Evidence paths={monitor.diagnosis.latest.paths} />
          </Section>
        )}
        <MonitorHistory monitor={monitor} />
      </div>
      <MonitorEvent monitor={id} />
    </Page>
  )
}

function Waiting() {
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
