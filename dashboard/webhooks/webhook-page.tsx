import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Send } from 'lucide-react'
import type { Webhook } from '#contract/webhooks.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Code, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Tabs } from '../ui/tabs.tsx'
import { Time } from '../ui/time.tsx'
import { Configuration } from './configuration.tsx'
import { Health } from './health.tsx'
import { webhookQuery } from './queries.ts'
import { Receivers } from './receivers.tsx'
import { RequestDialog } from './request-dialog.tsx'
import { Requests } from './requests.tsx'
import { HealthBadge } from './status.tsx'
import { TestResult, useTest } from './test-result.tsx'
import { WebhookMenu } from './webhook-menu.tsx'

const route = getRouteApi('/signed-in/webhooks/$webhook')
const BACK = { to: '/webhooks', label: 'Webhooks' } as const

export function WebhookPage() {
  const { webhook: id } = route.useParams()
  const { data: webhook, error, refetch } = useQuery(webhookQuery(id))
  if (webhook) return <LoadedPage key={id} webhook={webhook} />
  return (
    <Page title="Webhook" back={BACK}>
      {error ? <ProblemPage problem={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
    </Page>
  )
}

function LoadedPage({ webhook }: { webhook: Webhook }) {
  const { can } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const test = useTest(webhook.id)
  const open = (request: string | undefined) =>
    void navigate({
      search: ({ request: _, ...rest }) => ({ ...rest, ...(request ? { request } : {}) }),
      replace: true,
    })
  const tab = search.tab === 'settings' || search.tab === 'receiver' ? search.tab : 'requests'
  return (
    <Page
      title={webhook.url}
      heading={<Code className="text-lg">{webhook.url}</Code>}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <HealthBadge webhook={webhook} />
          {webhook.last_executed ? (
            <span>
              Last sent <Time at={webhook.last_executed} />
            </span>
          ) : (
            <span>Nothing sent yet</span>
          )}
        </span>
      }
      back={BACK}
      actions={
        can('write') && (
          <>
            <Button variant="primary" isBusy={test.isStarting} onClick={test.start}>
              <Send /> Send a test
            </Button>
            <WebhookMenu webhook={webhook} />
          </>
        )
      }
    >
      <Health webhook={webhook} />
      {test.isShown && <TestResult webhook={webhook.id} test={test} onOpen={open} />}
      <Tabs
        label="About this webhook"
        value={tab}
        onChange={(next) => void navigate({ search: next === 'requests' ? {} : { tab: next } })}
        tabs={[
          { value: 'requests', label: 'Requests', content: <Requests webhook={webhook} onOpen={open} /> },
          { value: 'settings', label: 'Configuration', content: <Configuration webhook={webhook} /> },
          {
            value: 'receiver',
            label: 'Receiver',
            content: (
              <Section
                title="Receive and verify"
                hint="Zonewatch signs every request with the webhook’s secret. These receivers verify the signature. Respond with 2xx within 30 seconds."
              >
                <Receivers />
              </Section>
            ),
          },
        ]}
      />
      {search.request && (
        <RequestDialog webhook={webhook.id} request={search.request} onClose={() => open(undefined)} />
      )}
    </Page>
  )
}
