import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useSession } from '../session.tsx'
import { Code, Section } from '../ui/page.tsx'
import { HealthBadge } from './health.tsx'
import { zoneByNameQuery } from './queries.ts'
import { countsText } from './zone-text.ts'

/** The zone of a monitor, if the organization has it. */
export function MonitorZone({ domain }: { domain: string }) {
  const { can } = useSession()
  const { data } = useQuery(zoneByNameQuery(domain))
  if (!data) return null
  const [zone] = data.data
  if (!zone && !can('write')) return null
  return (
    <Section title="Zone" hint="Its delegation, name servers and DNSSEC, looked at every hour.">
      {zone ? (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
          <Link to="/zones/$zone" params={{ zone: zone.name }} className="hover:underline">
            <Code className="font-medium">{zone.name}</Code>
          </Link>
          <HealthBadge health={zone.health} />
          <span className="text-faint">{countsText(zone)}</span>
        </div>
      ) : (
        <p className="text-sm text-faint">
          Not added.{' '}
          <Link to="/zones" search={{ open: 'new' }} className="underline">
            Add the zone
          </Link>
        </p>
      )}
    </Section>
  )
}
