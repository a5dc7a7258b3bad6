import { getRouteApi } from '@tanstack/react-router'
import { useSession } from '../session.tsx'
import { Page } from '../ui/page.tsx'
import { type Tab, Tabs } from '../ui/tabs.tsx'
import { AuditLog } from './audit-log.tsx'
import { BillingDetails } from './billing-details.tsx'
import { Keys } from './keys.tsx'
import { OrganizationSettings } from './organization-settings.tsx'
import { PlanAndUsage } from './plan-and-usage.tsx'
import { RecentEmails } from './recent-emails.tsx'

const route = getRouteApi('/inside/settings')

type Name = 'organization' | 'keys' | 'subscription' | 'billing' | 'emails' | 'audit-log'

export function SettingsPage() {
  const { can, organization } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const tabs: Tab<Name>[] = [
    { value: 'organization', label: 'Organization', content: <OrganizationSettings /> },
    { value: 'subscription', label: 'Plan and usage', content: <PlanAndUsage /> },
    { value: 'billing', label: 'Billing details', content: <BillingDetails /> },
    // Mails hold links that let people in, and keys say what programs can do.
    ...(can('manage')
      ? ([
          { value: 'keys', label: 'API keys', content: <Keys /> },
          { value: 'emails', label: 'Emails', content: <RecentEmails /> },
          { value: 'audit-log', label: 'Audit log', content: <AuditLog /> },
        ] as const)
      : []),
  ]
  const tab = tabs.find(({ value }) => value === search.tab)?.value ?? 'organization'
  return (
    <Page title="Settings" help="guides/accounts" lead={`Settings of ${organization.name}.`}>
      <Tabs
        label="Settings"
        value={tab}
        onChange={(next) => void navigate({ search: next === 'organization' ? {} : { tab: next } })}
        tabs={tabs}
      />
    </Page>
  )
}
