import { getRouteApi } from '@tanstack/react-router'
import { TriangleAlert } from 'lucide-react'
import { useSession } from '../session.tsx'
import { Page } from '../ui/page.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { AlertLog } from './alert-log.tsx'
import { Channels } from './channels.tsx'
import { IncidentDialog, Incidents } from './incidents.tsx'
import { Rules } from './rules.tsx'

const route = getRouteApi('/inside/alerts')

const TABS = ['incidents', 'rules', 'channels', 'log'] as const
type Tab = (typeof TABS)[number]

export function AlertsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const tab = TABS.find((each) => each === search.tab) ?? 'incidents'
  const setTab = (next: Tab) => void navigate({ search: next === 'incidents' ? {} : { tab: next } })
  return (
    <Page title="Alerts" help="guides/alerts" lead="Who is notified when monitors fail and recover, and how.">
      <MailNote />
      <Tabs
        label="Alerts"
        value={tab}
        onChange={setTab}
        tabs={[
          { value: 'incidents', label: 'Incidents', content: tab === 'incidents' && <Incidents /> },
          { value: 'rules', label: 'Rules', content: tab === 'rules' && <Rules /> },
          { value: 'channels', label: 'Channels', content: tab === 'channels' && <Channels /> },
          { value: 'log', label: 'Log', content: tab === 'log' && <AlertLog /> },
        ]}
      />
      {search.incident && (
        <IncidentDialog
          id={search.incident}
          onClose={() => void navigate({ search: ({ incident: _incident, ...others }) => others })}
        />
      )}
    </Page>
  )
}

/** The default channel is email. Nothing where the server sends mail. */
export function MailNote() {
  const { me } = useSession()
  if (me.server.sends_mail) return null
  return (
    <p className="mb-4 flex gap-2.5 rounded-md bg-warn-wash px-3 py-2.5 text-sm text-warn">
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <span>
        This server sends no email, so alerts by email fail. Set <code>SMTP_URL</code> and <code>MAIL_FROM</code>, or
        use another channel.{' '}
        <a href="/docs/guides/mail" className="underline">
          Set up email
        </a>
      </span>
    </p>
  )
}
