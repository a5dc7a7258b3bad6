import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { RotateCw, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Zone } from '#contract/zones.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Code, Fact, Facts, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { State } from '../ui/state.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { UptimeSection } from '../uptime/section.tsx'
import { HealthBadge } from './health.tsx'
import {
  incidentsOfZoneQuery,
  monitorsOfZoneQuery,
  refreshZones,
  zoneEventsQuery,
  zonePath,
  zoneQuery,
} from './queries.ts'
import { ZoneFindingsSection } from './zone-findings.tsx'
import { ZoneNameServers } from './zone-name-servers.tsx'
import { dnssecText, namedByText, REGISTRATION_TEXTS, SERVER_STATES } from './zone-text.ts'

const route = getRouteApi('/signed-in/zones/$zone')
const BACK = { to: '/zones', label: 'Zones' } as const

export function ZonePage() {
  const { zone: name } = route.useParams()
  const { data: zone, error, refetch } = useQuery(zoneQuery(name))
  if (zone) return <LoadedPage key={zone.id} zone={zone} />
  return (
    <Page title="Zone" back={BACK}>
      {error ? <ProblemPage problem={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
    </Page>
  )
}

function LoadedPage({ zone }: { zone: Zone }) {
  return (
    <Page
      title={zone.name}
      heading={<Code className="text-lg">{zone.name}</Code>}
      help="reference/zones"
      back={BACK}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1 pt-1">
          <HealthBadge health={zone.health} />
          {zone.checked ? (
            <span>
              Checked <Time at={zone.checked} />
            </span>
          ) : (
            <span>Waiting for the first look</span>
          )}
        </span>
      }
      actions={<Actions zone={zone} />}
    >
      <div className="flex flex-col gap-4">
        {zone.withheld && (
          <Section>
            <p className="text-sm">
              No result since <Time at={zone.withheld.since} />: {zone.withheld.text} What follows is older.
            </p>
          </Section>
        )}
        <ZoneFindingsSection zone={zone} />
        <Alerts zone={zone} />
        <Section title="Name servers" hint="What each answered for the SOA record of the zone." isFlush>
          {zone.servers.length === 0 ? (
            <p className="px-4 py-6 text-sm text-faint">None are known.</p>
          ) : (
            <DataTable label="Name servers" columns={SERVER_COLUMNS} rows={zone.servers} rowId={({ name }) => name} />
          )}
        </Section>
        {zone.goes_dark && (
          <Section
            title="Goes dark on"
            hint="The first failure that is known, if nobody acts. A signer that works moves it on, and so does a renewal."
          >
            <p className="text-sm">
              <Time at={zone.goes_dark.at} isExact />: {zone.goes_dark.text}
            </p>
          </Section>
        )}
        <ZoneNameServers zone={zone} />
        <Section title="DNSSEC" hint="Validated from the root down to each name server.">
          <Facts>
            <Fact name="State">{dnssecText(zone)}</Fact>
            {zone.dnssec?.reason && <Fact name="Reason">{zone.dnssec.reason}</Fact>}
            {zone.dnssec?.signatures_expire && (
              <Fact name="Signatures expire">
                <Time at={zone.dnssec.signatures_expire} />
              </Fact>
            )}
          </Facts>
        </Section>
        {zone.registration && <Registration registration={zone.registration} />}
        <Monitors name={zone.name} />
        <UptimeSection path={zonePath(zone.id)} />
        <History zone={zone} />
      </div>
    </Page>
  )
}

function Registration({ registration }: { registration: NonNullable<Zone['registration']> }) {
  const { domain, state, registrar, expires, statuses, looked_up, problem } = registration
  return (
    <Section title="Registration" hint="What the registry says of the domain, looked up once a day by RDAP.">
      <Facts>
        <Fact name="Domain">
          <Code>{domain}</Code>
        </Fact>
        {state !== 'registered' && <Fact name="State">{REGISTRATION_TEXTS[state]}</Fact>}
        {registrar && <Fact name="Registrar">{registrar}</Fact>}
        {expires && (
          <Fact name="Expires">
            <Time at={expires} isExact />
          </Fact>
        )}
        {statuses.length > 0 && <Fact name="Status">{statuses.join(', ')}</Fact>}
        {looked_up && (
          <Fact name="Looked up">
            <Time at={looked_up} />
          </Fact>
        )}
        {problem && <Fact name="Last look-up">{problem.text}</Fact>}
      </Facts>
    </Section>
  )
}

function Actions({ zone }: { zone: Zone }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const toast = useToast()
  const [isDeleting, setDeleting] = useState(false)
  const check = useMutation({
    mutationFn: () => api.post(`${zonePath(zone.id)}/check`),
    onSuccess: () => {
      toast.done(`${zone.name} is looked at now.`)
      void refreshZones(queries)
    },
    onError: (error) => toast.failed(error),
  })
  if (!can('write')) return null
  const remove = async () => {
    await api.delete(zonePath(zone.id))
    toast.done(`${zone.name} deleted.`)
    await navigate({ to: '/zones' })
    void refreshZones(queries)
  }
  return (
    <>
      <Button isBusy={check.isPending} onClick={() => check.mutate()}>
        <RotateCw /> Check now
      </Button>
      <Button onClick={() => setDeleting(true)}>
        <Trash2 /> Delete
      </Button>
      <Confirm
        isOpen={isDeleting}
        onClose={() => setDeleting(false)}
        title={`Delete the zone ${zone.name}?`}
        confirmLabel="Delete zone"
        isDangerous
        onConfirm={remove}
      >
        Its findings and its history are deleted, too. Its monitors stay. You cannot undo this.
      </Confirm>
    </>
  )
}

const SERVER_COLUMNS: Column<Zone['servers'][number]>[] = [
  {
    id: 'name',
    header: 'Name server',
    cell: ({ row }) => (
      <>
        <Code className="font-medium">{row.original.name}</Code>
        <div className="text-xs text-faint">{row.original.ip_addresses.join(', ') || 'No address'}</div>
      </>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ row }) => (
      <>
        {SERVER_STATES[row.original.state]}
        {row.original.tcp === false && <div className="text-xs text-faint">Not over TCP</div>}
      </>
    ),
  },
  { id: 'serial', header: 'Serial', cell: ({ row }) => row.original.serial ?? '–' },
  {
    id: 'named',
    header: 'Named by',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => namedByText(row.original),
  },
]

function Alerts({ zone }: { zone: Zone }) {
  const { data } = useQuery(incidentsOfZoneQuery(zone.id))
  return (
    <Section title="Alerts" hint="The last five incidents of this zone. Alert rules say who receives them.">
      {!data ? (
        <Skeleton lines={2} />
      ) : data.data.length === 0 ? (
        <p className="text-sm text-faint">None.</p>
      ) : (
        <ul className="flex flex-col gap-2 text-sm">
          {data.data.map(({ id, opened, resolved, acknowledged, state }) => (
            <li key={id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
              <Link to="/incidents/$incident" params={{ incident: id }} className="hover:underline">
                {state.toLowerCase()}, since <Time at={opened} />
              </Link>
              <span className="text-faint">
                {resolved !== null ? 'Resolved' : acknowledged !== null ? 'Acknowledged' : 'Open'}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function Monitors({ name }: { name: string }) {
  const { data } = useQuery(monitorsOfZoneQuery(name))
  return (
    <Section title="Monitored records" hint="Monitors whose domain is this zone.">
      {!data ? (
        <Skeleton lines={2} />
      ) : data.data.length === 0 ? (
        <p className="text-sm text-faint">
          None.{' '}
          <Link to="/monitors/new" search={{ name }} className="text-accent-text underline">
            Create a monitor
          </Link>
        </p>
      ) : (
        <ul className="flex flex-col gap-2 text-sm">
          {data.data.map(({ id, subdomain, record_type, state, is_active }) => (
            <li key={id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
              <Link to="/monitors/$monitor" params={{ monitor: id }} className="hover:underline">
                <Code>{`${subdomain === '' ? name : `${subdomain}.${name}`} ${record_type}`}</Code>
              </Link>
              <State state={state ?? 'UNSET'} isActive={is_active} />
            </li>
          ))}
          {data.has_more && (
            <li>
              <Link to="/monitors" search={{ domain: name }} className="underline">
                All monitors
              </Link>
            </li>
          )}
        </ul>
      )}
    </Section>
  )
}

function History({ zone }: { zone: Zone }) {
  const { data } = useQuery(zoneEventsQuery(zone.id))
  return (
    <Section title="History" hint="The last ten findings that began or ended.">
      {!data ? (
        <Skeleton lines={2} />
      ) : data.data.length === 0 ? (
        <p className="text-sm text-faint">Nothing yet.</p>
      ) : (
        <ol className="flex flex-col gap-2 text-sm">
          {data.data.map(({ id, occurred, kind, text }) => (
            <li key={id} className="flex flex-col gap-x-4 sm:flex-row">
              <span className="shrink-0 text-faint sm:w-40">
                <Time at={occurred} />
              </span>
              <span>
                <span className="font-medium">{kind === 'began' ? 'Began' : 'Ended'}:</span> {text}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Section>
  )
}
