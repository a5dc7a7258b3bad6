import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import type { Overview } from '#contract/dashboard.ts'
import { plural } from '#contract/wording.ts'
import { useSession } from '../session.tsx'
import { ButtonLink } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Section } from '../ui/page.tsx'
import { Badge, STATE_DISPLAY, State, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { stateCounts } from './overview-text.ts'

/** Monitors by state, checks and webhooks. `isCurrent` false: the last known figures. */
export function Figures({ overview, isCurrent }: { overview: Overview; isCurrent: boolean }) {
  return (
    <>
      <States overview={overview} isCurrent={isCurrent} />
      <Checks checks={overview.checks} isCurrent={isCurrent} />
      <Webhooks webhooks={overview.webhooks} />
    </>
  )
}

const BAR_COLORS: Record<Tone, string> = { good: 'bg-good', bad: 'bg-bad', warn: 'bg-warn', idle: 'bg-idle' }
const row = 'flex items-center justify-between gap-4 py-1.5'

function States({ overview, isCurrent }: { overview: Overview; isCurrent: boolean }) {
  const states = stateCounts(overview)
  return (
    <Section
      title={isCurrent ? 'Monitors' : 'Monitors, last known state'}
      actions={<span className="text-xs text-faint tabular-nums">{overview.active.toLocaleString()} active</span>}
    >
      <div className="mb-2 flex h-2 gap-0.5" aria-hidden="true">
        {states.map(({ state, count }) => (
          <span
            key={state}
            className={cx('min-w-1 rounded-xs', BAR_COLORS[STATE_DISPLAY[state].tone])}
            style={{ flexGrow: count }}
          />
        ))}
      </div>
      <ul>
        {states.map(({ state, count }) => (
          <li key={state}>
            <Link to="/monitors" search={{ state }} className={cx(row, '-mx-2 rounded-md px-2 hover:bg-sunken')}>
              <State state={state} />
              <span className="tabular-nums">{count.toLocaleString()}</span>
            </Link>
          </li>
        ))}
        {overview.disabled > 0 && (
          <li>
            <Link
              to="/monitors"
              search={{ active: 'false' }}
              className={cx(row, '-mx-2 rounded-md px-2 text-faint hover:bg-sunken')}
            >
              Disabled
              <span className="tabular-nums">{overview.disabled.toLocaleString()}</span>
            </Link>
          </li>
        )}
      </ul>
    </Section>
  )
}

function Checks({ checks, isCurrent }: { checks: Overview['checks']; isCurrent: boolean }) {
  const { on_time, last_checked } = checks
  const late = isCurrent ? checks.late : 0
  return (
    <Section title="Checks">
      <dl className="-my-1.5">
        <div className={row}>
          <dt className="text-faint">On time</dt>
          <dd className="tabular-nums">{isCurrent ? on_time.toLocaleString() : 'unknown'}</dd>
        </div>
        <div className={row}>
          <dt className={late > 0 ? 'font-medium text-warn' : 'text-faint'}>
            Late{late > 0 && <span className="font-normal"> more than a minute late</span>}
          </dt>
          <dd className={cx('tabular-nums', late > 0 && 'font-medium text-warn')}>
            {isCurrent ? late.toLocaleString() : 'unknown'}
          </dd>
        </div>
        <div className={row}>
          <dt className="text-faint">{isCurrent ? 'Last check' : 'Last known check'}</dt>
          <dd>{last_checked === null ? 'none yet' : <Time at={last_checked} />}</dd>
        </div>
      </dl>
    </Section>
  )
}

function Webhooks({ webhooks: { count, paused, failing } }: { webhooks: Overview['webhooks'] }) {
  const { can } = useSession()
  if (count === 0) {
    return (
      <Section title="Webhooks">
        <p className="text-sm text-soft">
          No webhooks yet. Changes are recorded as events, but not sent to an endpoint.
        </p>
        {can('write') && (
          <ButtonLink to="/webhooks" search={{ open: 'new' }} size="sm" className="mt-3">
            <Plus /> Connect a webhook
          </ButtonLink>
        )}
      </Section>
    )
  }
  return (
    <Section title="Webhooks">
      <Link to="/webhooks" className={cx(row, '-mx-2 -my-1.5 rounded-md px-2 hover:bg-sunken')}>
        <span className="tabular-nums">{plural(count, '1 webhook', (number) => `${number} webhooks`)}</span>
        {paused + failing === 0 ? (
          <span className="text-faint">no failures</span>
        ) : (
          <span className="flex flex-wrap justify-end gap-1">
            {paused > 0 && <Badge tone="bad" label={`${paused} paused`} />}
            {failing > 0 && <Badge tone="warn" label={`${failing} failing`} />}
          </span>
        )}
      </Link>
    </Section>
  )
}
