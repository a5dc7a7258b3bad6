import { getRouteApi, Navigate } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { Incidents } from '../incidents/incidents.tsx'
import { failingText } from '../monitors/failing.tsx'
import { useOverview } from '../monitors/list/overview.ts'
import { Page, Skeleton } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { AlertLog } from './alert-log.tsx'
import { Channels } from './channels.tsx'
import { MailNote } from './mail-note.tsx'
import { Rules } from './rules.tsx'

const MaintenanceWindows = lazy(async () => ({ default: (await import('./maintenance.tsx')).MaintenanceWindows }))
const PlannedChanges = lazy(async () => ({ default: (await import('../planned-changes/list.tsx')).PlannedChanges }))

const route = getRouteApi('/signed-in/alerts')

const TABS = ['incidents', 'rules', 'channels', 'maintenance', 'changes', 'log'] as const
type Tab = (typeof TABS)[number]

const within = (content: ReactNode) => <Suspense fallback={<Skeleton lines={3} />}>{content}</Suspense>

export function AlertsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const overview = useOverview()
  const tab = TABS.find((each) => each === search.tab) ?? 'incidents'
  const setTab = (next: Tab) => void navigate({ search: next === 'incidents' ? {} : { tab: next } })
  // The links in messages of older versions.
  if (search.incident) return <Navigate to="/incidents/$incident" params={{ incident: search.incident }} replace />
  return (
    <Page
      title="Alerts"
      help="guides/alerts"
      lead={
        overview && overview.failing.monitors > 0
          ? failingText(overview.failing, overview.active)
          : 'Who is notified when monitors fail and recover, and how.'
      }
    >
      <div className="mb-4 empty:hidden">
        <MailNote />
      </div>
      <Tabs
        label="Alerts"
        value={tab}
        onChange={setTab}
        tabs={[
          { value: 'incidents', label: 'Incidents', content: tab === 'incidents' && <Incidents /> },
          { value: 'rules', label: 'Rules', content: tab === 'rules' && <Rules /> },
          { value: 'channels', label: 'Channels', content: tab === 'channels' && <Channels /> },
          {
            value: 'maintenance',
            label: 'Maintenance',
            content: tab === 'maintenance' && within(<MaintenanceWindows />),
          },
          { value: 'changes', label: 'Planned changes', content: tab === 'changes' && within(<PlannedChanges />) },
          { value: 'log', label: 'Log', content: tab === 'log' && <AlertLog /> },
        ]}
      />
    </Page>
  )
}
