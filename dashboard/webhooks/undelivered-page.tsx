import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { CircleCheck, RotateCw } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { WebhookRequest } from '#contract/webhooks.ts'
import { useSession } from '../session.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Code, Page, Section } from '../ui/page.tsx'
import { Select } from '../ui/select.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { undeliveredQuery, webhookChoiceQuery } from './queries.ts'
import { Change, LastResponse, StatusFilter, useEvents } from './requests.tsx'
import { StatusBadge } from './status.tsx'

const JobDialog = lazy(async () => ({ default: (await import('../jobs/bulk-action-dialog.tsx')).JobDialog }))

const route = getRouteApi('/signed-in/webhooks/undelivered')
const UNDELIVERED_STATUSES = ['PENDING', 'RETRYING', 'FAILED'] as const

export function UndeliveredPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(undeliveredQuery(search))
  const page = list.data
  const { data: webhooks } = useQuery(webhookChoiceQuery)
  const eventOf = useEvents(page?.data ?? [])
  const { can } = useSession()
  const [isDialogOpen, setDialogOpen] = useState(false)
  const { status, webhook } = search
  const statusFilter = UNDELIVERED_STATUSES.find((value) => value === status)
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
            <Button onClick={() => setDialogOpen(true)}>
              <RotateCw /> Send all again
            </Button>
          )}
        </>
      }
    >
      {isEmpty ? (
        <Section isFlush>
          <EmptyState icon={CircleCheck} title="Everything is delivered">
            <p>
              A request is listed here while your endpoint does not respond with 2xx. Zonewatch retries nine times over
              almost two days. After that, you can send them again here.
            </p>
          </EmptyState>
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
              statuses={UNDELIVERED_STATUSES}
              chosen={status}
              onChoose={(next) =>
                void navigate({ search: { ...(next && { status: next }), ...(webhook && { webhook }) } })
              }
            />
            <PagedTable
              label="Undelivered requests"
              columns={columnsWith(eventOf, new Map(webhooks?.map(({ id, url }) => [id, url])))}
              list={list}
              skeletonLines={6}
              isClickable
              onPage={(cursor) => void navigate({ search: { ...filter, ...cursor } })}
              empty={<p className="px-4 py-12 text-center text-sm text-faint">No requests match this filter.</p>}
            />
          </Section>
        </>
      )}
      {isDialogOpen && (
        <Suspense>
          <JobDialog
            title="Send requests again"
            parameters={{ action: 'retry_requests' }}
            target={{
              requests: { ...(statusFilter && { status: statusFilter }), ...(webhook && { webhook_id: webhook }) },
            }}
            onClose={() => setDialogOpen(false)}
          />
        </Suspense>
      )}
    </Page>
  )
}

const columnsWith = (
  eventOf: ReturnType<typeof useEvents>,
  urls: ReadonlyMap<string, string>,
): Column<WebhookRequest>[] => [
  {
    id: 'status',
    header: 'Status',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => <StatusBadge status={row.original.status} />,
  },
  {
    id: 'change',
    header: 'Change',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((request) => (
      <>
        <Link
          to="/webhooks/$webhook"
          params={{ webhook: request.webhook_id }}
          search={{ request: request.id }}
          className="rounded-sm after:absolute after:inset-0 hover:underline"
        >
          <Change request={request} event={request.event_id === null ? undefined : eventOf(request.event_id)} />
        </Link>
        <p className="mt-0.5 line-clamp-1 text-xs break-all text-faint lg:hidden">
          {urls.get(request.webhook_id) ?? request.webhook_id}
        </p>
        <div className="mt-1.5 flex items-center justify-between gap-2 text-xs text-faint sm:hidden">
          <StatusBadge status={request.status} />
          <Time at={request.created} />
        </div>
      </>
    )),
  },
  {
    id: 'webhook',
    header: 'Webhook',
    meta: { className: 'hidden lg:table-cell', cellClassName: 'max-w-72 text-soft' },
    cell: rowCell((original) => (
      <Code className="line-clamp-1 break-all">{urls.get(original.webhook_id) ?? original.webhook_id}</Code>
    )),
  },
  {
    id: 'response',
    header: 'Response',
    meta: { className: 'hidden md:table-cell', cellClassName: 'max-w-72 text-soft' },
    cell: ({ row }) => <LastResponse request={row.original} />,
  },
  {
    id: 'created',
    header: 'Created',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.created} />,
  },
]
