import { Link } from '@tanstack/react-router'
import { nameOf } from '../events/event-change.tsx'
import { Badge } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import type { MonitorDetails } from './monitor-queries.ts'

/** The subdomain is what tells monitors of one zone apart. */
export function MonitorName({ monitor }: { monitor: MonitorDetails }) {
  const { domain, subdomain, record_type } = monitor
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className="font-mono text-[0.95em] break-all">
        {subdomain !== '' && (
          <>
            {subdomain}
            <span className="text-faint">.</span>
          </>
        )}
        <span className={subdomain === '' ? undefined : 'text-soft'}>{domain}</span>
      </span>
      <span className="rounded-md border border-line bg-surface px-1.5 font-mono text-sm font-medium text-soft">
        {record_type}
      </span>
      {!monitor.is_active && <Badge tone="idle">Disabled</Badge>}
      <span className="sr-only">{nameOf(monitor)}</span>
    </span>
  )
}

/** How it is watched, in a line. */
export function MonitorFacts({ monitor }: { monitor: MonitorDetails }) {
  const { is_active, frequency, group, last_checked, notify } = monitor
  return (
    <ul className="flex flex-wrap gap-x-1.5 *:after:ml-1.5 *:after:content-['·'] *:last:after:content-none">
      <li>
        {last_checked === null ? (
          'Never checked'
        ) : (
          <>
            Checked <Time at={last_checked} />
          </>
        )}
      </li>
      <li>{is_active ? `every ${frequency} minutes` : 'not checked while disabled'}</li>
      {group !== undefined && (
        <li>
          group{' '}
          <Link
            to="/groups/$group"
            params={{ group }}
            className="rounded-sm text-soft underline-offset-2 hover:underline"
          >
            {group}
          </Link>
        </li>
      )}
      <li>{NOTIFIED[notify]}</li>
    </ul>
  )
}

const NOTIFIED: Record<MonitorDetails['notify'], string> = {
  immediately: 'webhooks receive every change',
  on_success: 'webhooks receive changes to valid',
  after_success: 'webhooks receive changes from valid',
}
