import { getRouteApi } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { useSession } from '../session.tsx'
import { Page, Skeleton } from '../ui/page.tsx'
import { type Tab, Tabs } from '../ui/tabs.tsx'
import { OrganizationSettings } from './organization-settings.tsx'
import { PlanAndUsage } from './plan-and-usage.tsx'

const AuditLog = lazy(async () => ({ default: (await import('./audit-log.tsx')).AuditLog }))
const BillingDetails = lazy(async () => ({ default: (await import('./billing-details.tsx')).BillingDetails }))
const DeleteOrganization = lazy(async () => ({
  default: (await import('./delete-organization.tsx')).DeleteOrganization,
}))
const Keys = lazy(async () => ({ default: (await import('./keys.tsx')).Keys }))
const RecentEmails = lazy(async () => ({ default: (await import('./recent-emails.tsx')).RecentEmails }))

const route = getRouteApi('/signed-in/settings')

type Name = 'organization' | 'keys' | 'subscription' | 'billing' | 'emails' | 'audit-log'

export function SettingsPage() {
  const { can, organization } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const tabs: Tab<Name>[] = [
    { value: 'organization', label: 'Organization', content: <OrganizationTab /> },
    { value: 'subscription', label: 'Plan and usage', content: <PlanAndUsage /> },
    // Emails contain sign-in and invitation links, so only admins see them.
    ...(can('manage')
      ? ([
          { value: 'billing', label: 'Billing details', content: lazily(<BillingDetails />) },
          { value: 'keys', label: 'API keys', content: lazily(<Keys />) },
          { value: 'emails', label: 'Emails', content: lazily(<RecentEmails />) },
          { value: 'audit-log', label: 'Audit log', content: lazily(<AuditLog />) },
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

function OrganizationTab() {
  const { can } = useSession()
  return (
    <div className="flex flex-col gap-5">
      <OrganizationSettings />
      {can('own') && lazily(<DeleteOrganization />)}
    </div>
  )
}

const lazily = (content: ReactNode) => <Suspense fallback={<Skeleton lines={6} />}>{content}</Suspense>
