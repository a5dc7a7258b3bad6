import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Plus, Webhook as WebhookIcon } from 'lucide-react'
import type { Webhook } from '#contract/webhooks.ts'
import { useSession } from '../session.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Code, Page, Section } from '../ui/page.tsx'
import { Select } from '../ui/select.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { NewWebhook } from './new-webhook.tsx'
import { groupsQuery, webhooksQuery } from './queries.ts'
import { HealthBadge } from './status.tsx'

const route = getRouteApi('/signed-in/webhooks')

/** Longer lists get a filter. */
const MAX_WITHOUT_FILTER = 5

const FILTERS = [
  { value: '', label: 'All webhooks' },
  { value: 'active', label: 'Active' },
  { value: 'paused', label: 'Paused' },
  { value: 'disabled', label: 'Disabled' },
]

export function WebhooksPage() {
  const { can } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(webhooksQuery(search))
  const page = list.data
  const isNew = search.open === 'new'
  const setNew = (isOpen: boolean) =>
    void navigate({
      search: ({ open: _open, ...others }) => (isOpen ? { ...others, open: 'new' } : others),
      replace: true,
    })
  const isFiltered = search.state !== undefined
  const isEmpty = page?.data.length === 0 && !isFiltered && search.after === undefined
  const newButton = can('write') && (
    <Button variant="primary" onClick={() => setNew(true)}>
      <Plus /> New webhook
    </Button>
  )
  return (
    <Page
      title="Webhooks"
      help="guides/receive-webhooks"
      lead="Endpoints that receive confirmed changes as signed HTTP requests."
      actions={
        !isEmpty && (
          <>
            <ButtonLink to="/webhooks/undelivered">Undelivered requests</ButtonLink>
            {newButton}
          </>
        )
      }
    >
      {isEmpty ? (
        <Section isFlush>
          <NoWebhooks action={newButton} />
        </Section>
      ) : (
        <>
          {(isFiltered || (page && page.data.length > MAX_WITHOUT_FILTER)) && (
            <div className="mb-4 w-44">
              <Select
                label="Filter webhooks"
                value={search.state ?? ''}
                options={FILTERS}
                onChange={(state) => void navigate({ search: state ? { state } : {} })}
              />
            </div>
          )}
          <Section isFlush>
            <PagedTable
              label="Webhooks"
              columns={COLUMNS}
              list={list}
              skeletonLines={5}
              isClickable
              onPage={(cursor) =>
                void navigate({ search: ({ state }) => ({ ...(state ? { state } : {}), ...cursor }) })
              }
              empty={<p className="px-4 py-10 text-center text-sm text-faint">No {search.state ?? ''} webhooks.</p>}
            />
          </Section>
        </>
      )}
      {isNew && <NewWebhook onClose={() => setNew(false)} />}
    </Page>
  )
}

function NoWebhooks({ action }: { action: React.ReactNode }) {
  return (
    <EmptyState icon={WebhookIcon} title="No webhooks yet" action={action}>
      <p>
        When a monitored record changes, Zonewatch sends a signed HTTP request to your endpoint. It retries for two days
        and queues requests while your endpoint is down.
      </p>
      {!action && (
        <p className="mt-2 text-faint">
          Your role is read-only. Ask a member of your organization to create a webhook.
        </p>
      )}
    </EmptyState>
  )
}

const COLUMNS: Column<Webhook>[] = [
  {
    id: 'url',
    header: 'URL',
    meta: { cellClassName: 'max-w-96 min-w-0' },
    cell: rowCell((webhook) => (
      <>
        <Link
          to="/webhooks/$webhook"
          params={{ webhook: webhook.id }}
          className="rounded-sm after:absolute after:inset-0 hover:underline"
        >
          <Code className="line-clamp-2 font-medium">{webhook.url}</Code>
        </Link>
        <GroupNames webhook={webhook} />
        <div className="mt-1.5 sm:hidden">
          <HealthBadge webhook={webhook} />
        </div>
      </>
    )),
  },
  {
    id: 'state',
    header: 'State',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => <HealthBadge webhook={row.original} />,
  },
  {
    id: 'last_executed',
    header: 'Last sent',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell((original) =>
      original.last_executed ? <Time at={original.last_executed} /> : <span className="text-faint">never</span>,
    ),
  },
  {
    id: 'last_error',
    header: 'Last error',
    meta: { className: 'hidden lg:table-cell', cellClassName: 'max-w-80 text-soft' },
    cell: rowCell((original) =>
      original.last_error ? (
        <span className="line-clamp-2">{original.last_error}</span>
      ) : (
        <span className="text-faint">none</span>
      ),
    ),
  },
]

function GroupNames({ webhook: { groups: ids, all_groups } }: { webhook: Webhook }) {
  const { data } = useQuery(groupsQuery)
  if (all_groups) return <p className="text-xs text-faint">All groups</p>
  if (ids.length === 0) return <p className="text-xs text-warn">No groups, so nothing is sent</p>
  if (!data) return <p className="text-xs text-faint">&nbsp;</p>
  const names = data.data.filter(({ id }) => ids.includes(id)).map(({ name }) => name)
  const unnamed = ids.length - names.length
  return (
    <p className="line-clamp-1 text-xs text-faint">
      {[...names, ...(unnamed > 0 ? [`${unnamed} more`] : [])].join(', ')}
    </p>
  )
}
