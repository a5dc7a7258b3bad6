import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { Globe, Plus } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Zone } from '#contract/zones.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Code, Page, Section } from '../ui/page.tsx'
import { Select } from '../ui/select.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { HEALTH_OPTIONS, HealthBadge } from './health.tsx'
import { NewZone } from './new-zone.tsx'
import { zonesQuery } from './queries.ts'
import { countsText, dnssecText, serialsText } from './zone-text.ts'

const route = getRouteApi('/signed-in/zones')

export function ZonesPage() {
  const { can } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(zonesQuery(search))
  const setNew = (isOpen: boolean) =>
    void navigate({
      search: ({ open: _open, ...others }) => (isOpen ? { ...others, open: 'new' } : others),
      replace: true,
    })
  const isFiltered = search.health !== undefined
  const isEmpty = list.data?.data.length === 0 && !isFiltered && search.after === undefined
  const newButton = can('write') && (
    <Button variant="primary" onClick={() => setNew(true)}>
      <Plus /> Add zone
    </Button>
  )
  return (
    <Page
      title="Zones"
      help="guides/guard-a-domain"
      lead="Delegation, name servers and DNSSEC of your zones, looked at every hour."
      actions={!isEmpty && newButton}
    >
      {isEmpty ? (
        <Section isFlush>
          <NoZones action={newButton} />
        </Section>
      ) : (
        <>
          <div className="mb-4 w-44">
            <Select
              label="Filter zones"
              value={search.health ?? ''}
              options={HEALTH_OPTIONS}
              onChange={(health) => void navigate({ search: health ? { health } : {} })}
            />
          </div>
          <Section isFlush>
            <PagedTable
              label="Zones"
              columns={COLUMNS}
              list={list}
              skeletonLines={5}
              isClickable
              onPage={(cursor) =>
                void navigate({ search: ({ health }) => ({ ...(health ? { health } : {}), ...cursor }) })
              }
              empty={<p className="px-4 py-10 text-center text-sm text-faint">No zones with this health.</p>}
            />
          </Section>
        </>
      )}
      {search.open === 'new' && (
        <NewZone
          onClose={() => setNew(false)}
          onAdded={(zone) => void navigate({ to: '/zones/$zone', params: { zone } })}
        />
      )}
    </Page>
  )
}

function NoZones({ action }: { action: ReactNode }) {
  return (
    <EmptyState icon={Globe} title="No zones yet" action={action}>
      <p>
        A record can be right while its zone is about to go dark: no longer delegated, a name server silent or days
        behind, signatures that expire, an unknown name server in the delegation. Add the zones that you are responsible
        for.
      </p>
      {!action && (
        <p className="mt-2 text-faint">Your role is read-only. Ask a member of your organization to add a zone.</p>
      )}
    </EmptyState>
  )
}

const COLUMNS: Column<Zone>[] = [
  {
    id: 'name',
    header: 'Zone',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((zone) => (
      <>
        <Link
          to="/zones/$zone"
          params={{ zone: zone.name }}
          className="rounded-sm after:absolute after:inset-0 hover:underline"
        >
          <Code className="font-medium">{zone.name}</Code>
        </Link>
        <div className="text-xs text-faint">{countsText(zone)}</div>
      </>
    )),
  },
  {
    id: 'health',
    header: 'Health',
    cell: ({ row }) => <HealthBadge health={row.original.health} />,
  },
  {
    id: 'servers',
    header: 'Name servers',
    meta: { className: 'hidden md:table-cell' },
    cell: ({ row }) => serialsText(row.original),
  },
  {
    id: 'dnssec',
    header: 'DNSSEC',
    meta: { className: 'hidden md:table-cell' },
    cell: ({ row }) => dnssecText(row.original),
  },
  {
    id: 'checked',
    header: 'Checked',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => (row.original.checked ? <Time at={row.original.checked} /> : 'Never'),
  },
]
