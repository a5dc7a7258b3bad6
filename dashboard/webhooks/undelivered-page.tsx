import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CircleCheck, RotateCw } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { useSession } from '../session.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Code, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { Cell, Head, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { undeliveredQuery, webhookChoiceQuery } from './queries.ts'
import { Answer, Change, StatusFilter, useEvents } from './requests.tsx'
import { StatusBadge } from './words.tsx'

const JobDialog = lazy(async () => ({ default: (await import('../jobs/job-dialog.tsx')).JobDialog }))

const route = getRouteApi('/inside/webhooks/undelivered')
const UNDELIVERED = ['PENDING', 'RETRYING', 'FAILED'] as const

/** What failed and what waits, of all webhooks. */
export function UndeliveredPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { data: page, error, refetch } = useQuery(undeliveredQuery(search))
  const { data: webhooks } = useQuery(webhookChoiceQuery)
  const { can } = useSession()
  const [isAsking, setAsking] = useState(false)
  const { status, webhook } = search
  const ofStatus = UNDELIVERED.find((each) => each === status)
  const filter = { ...(status && { status }), ...(webhook && { webhook }) }
  const isFirst = search.after === undefined && search.before === undefined
  const isEmpty = page?.data.length === 0 && !status && !webhook && isFirst
  return (
    <Page
      title="Undelivered requests"
      help="reference/webhooks"
      lead="Requests of all webhooks that failed or wait for their next attempt."
      actions={
        <>
          <ButtonLink to="/webhooks">Webhooks</ButtonLink>
          {can('write') && page !== undefined && page.data.length > 0 && (
            <Button onClick={() => setAsking(true)}>
              <RotateCw /> Send all again
            </Button>
          )}
        </>
      }
    >
      {error && !page ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : isEmpty ? (
        <Section isFlush>
          <Empty icon={CircleCheck} title="Everything is delivered">
            <p>
              A request is listed here while your endpoint does not respond with 2xx. Zonewatch retries nine times over
              almost two days. After that, you can send them again here.
            </p>
          </Empty>
        </Section>
      ) : (
        <>
          {webhooks && webhooks.length > 1 && (
            <div className="mb-4 w-full sm:w-80">
              <Select
                label="Filter by webhook"
                value={webhook ?? ''}
                options={[
                  { value: '', label: 'All webhooks' },
                  ...webhooks.map(({ id, url }) => ({ value: id, label: url })),
                ]}
                onChange={(next) =>
                  void navigate({ search: { ...(status && { status }), ...(next && { webhook: next }) } })
                }
              />
            </div>
          )}
          <Section isFlush>
            <StatusFilter
              statuses={UNDELIVERED}
              chosen={status}
              onChoose={(next) =>
                void navigate({ search: { ...(next && { status: next }), ...(webhook && { webhook }) } })
              }
            />
            {!page ? (
              <Skeleton lines={6} className="p-4" />
            ) : page.data.length === 0 ? (
              <p className="px-4 py-12 text-center text-sm text-faint">No requests match this filter.</p>
            ) : (
              <List requests={page.data} webhooks={webhooks ?? []} />
            )}
            <Pager
              page={page}
              onAfter={(after) => void navigate({ search: { ...filter, after } })}
              onBefore={(before) => void navigate({ search: { ...filter, before } })}
            />
          </Section>
        </>
      )}
      {isAsking && (
        <Suspense>
          <JobDialog
            act="retry"
            target={{ requests: { ...(ofStatus && { status: ofStatus }), ...(webhook && { webhook_id: webhook }) } }}
            onClose={() => setAsking(false)}
          />
        </Suspense>
      )}
    </Page>
  )
}

function List({ requests, webhooks }: { requests: readonly WebhookRequest[]; webhooks: readonly Webhook[] }) {
  const eventOf = useEvents(requests)
  const urlOf = new Map(webhooks.map(({ id, url }) => [id, url]))
  return (
    <Table
      label="Undelivered requests"
      head={
        <>
          <Head className="hidden sm:table-cell">Status</Head>
          <Head>Change</Head>
          <Head className="hidden lg:table-cell">Webhook</Head>
          <Head className="hidden md:table-cell">Response</Head>
          <Head className="hidden sm:table-cell">Created</Head>
        </>
      }
    >
      {requests.map((request) => (
        <tr key={request.id} className="relative hover:bg-sunken/60">
          <Cell className="hidden sm:table-cell">
            <StatusBadge status={request.status} />
          </Cell>
          <Cell className="min-w-0">
            <Link
              to="/webhooks/$webhook"
              params={{ webhook: request.webhook_id }}
              search={{ request: request.id }}
              className="rounded-sm after:absolute after:inset-0 hover:underline"
            >
              <Change request={request} event={request.event_id === null ? undefined : eventOf(request.event_id)} />
            </Link>
            <p className="mt-0.5 line-clamp-1 text-xs break-all text-faint lg:hidden">
              {urlOf.get(request.webhook_id) ?? request.webhook_id}
            </p>
            <div className="mt-1.5 flex items-center justify-between gap-2 text-xs text-faint sm:hidden">
              <StatusBadge status={request.status} />
              <Time at={request.created} />
            </div>
          </Cell>
          <Cell className="hidden max-w-72 text-soft lg:table-cell">
            <Code className="line-clamp-1 break-all">{urlOf.get(request.webhook_id) ?? request.webhook_id}</Code>
          </Cell>
          <Cell className="hidden max-w-72 text-soft md:table-cell">
            <Answer request={request} />
          </Cell>
          <Cell className="hidden text-soft sm:table-cell">
            <Time at={request.created} />
          </Cell>
        </tr>
      ))}
    </Table>
  )
}
