import { Link } from '@tanstack/react-router'
import {
  ChevronRight,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  Clock,
  type LucideIcon,
  ServerOff,
  TriangleAlert,
} from 'lucide-react'
import type { ReactNode } from 'react'
import type { Cause, Overview } from '#contract/dashboard.ts'
import type { Incident } from '#contract/incidents.ts'
import { visibleLines } from '#contract/visible-text.ts'
import { plural } from '#contract/wording.ts'
import { useConnection } from '../connection.ts'
import { IncidentActions, IncidentStanding } from '../incidents/controls.tsx'
import { failedText, incidentDisplay, incidentLabel, isSnoozed } from '../incidents/incident-text.ts'
import { FailingNote } from '../monitors/failing.tsx'
import { cx } from '../ui/class-names.ts'
import { Code } from '../ui/page.tsx'
import { STATE_DISPLAY, stateTitle, TONE_TEXT, TONE_WASH, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { type Alert, overallVerdict, serverAlerts, unknownVerdict, type Verdict } from './overview-text.ts'
import { useNow } from './use-now.ts'

const ICONS: Record<Tone, LucideIcon> = { good: CircleCheck, bad: TriangleAlert, warn: Clock, idle: CircleDashed }

/** The overall state, and the issues: problems of the server first, then webhooks, then monitors by cause. */
export function Attention({ overview, asOf, problem }: { overview: Overview; asOf: number; problem: Error | null }) {
  const { incidents, attention, more, webhooks, failing } = overview
  const { isLost } = useConnection()
  const now = useNow()
  const alerts = serverAlerts(overview, now)
  const unnamed = webhooks.paused + webhooks.failing - webhooks.trouble.length
  const verdict = isLost || problem ? unknownVerdict(problem, asOf) : overallVerdict(overview, now)
  return (
    <section aria-labelledby="verdict" className="min-w-0 rounded-lg border border-line bg-surface">
      <Headline verdict={verdict} />
      <p role="status" className="sr-only">
        {[...alerts.map(({ title }) => title), ...webhooks.trouble.map(webhookSentence)].join(' ')}
      </p>
      {alerts.length + incidents.length + attention.length + webhooks.trouble.length > 0 && (
        <ul className="divide-y divide-line border-t border-line">
          {alerts.map((alert) => (
            <AlertLine key={alert.key} alert={alert} />
          ))}
          {webhooks.trouble.map((webhook) => (
            <WebhookLine key={webhook.id} webhook={webhook} />
          ))}
          {incidents.map((incident) => (
            <IncidentLine key={incident.id} incident={incident} />
          ))}
          {attention.map((cause) => (
            <CauseLine
              key={`${cause.domain} ${cause.state} ${cause.reason.text}`}
              cause={cause}
              isNeverValid={failing.failed_now === 0}
            />
          ))}
        </ul>
      )}
      {unnamed > 0 && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint">
          {plural(unnamed, '1 more webhook:', (number) => `${number} more webhooks:`)}{' '}
          <Link to="/webhooks" className="rounded-sm text-accent-ink hover:underline">
            all webhooks
          </Link>
        </p>
      )}
      {failing.incidents > incidents.length && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint">
          {plural(failing.incidents - incidents.length, '1 more incident:', (number) => `${number} more incidents:`)}{' '}
          <Link to="/alerts" className="rounded-sm text-accent-ink hover:underline">
            all incidents
          </Link>
        </p>
      )}
      {more > 0 && (
        <p className="border-t border-line px-4 py-3 text-sm text-faint">
          {plural(more, '1 more cause:', (number) => `${number} more causes:`)}{' '}
          <Link to="/monitors" search={{ order: 'state' }} className="rounded-sm text-accent-ink hover:underline">
            all monitors by state
          </Link>
        </p>
      )}
      <FailingNote failing={failing} />
    </section>
  )
}

function Headline({ verdict: { tone, title, detail } }: { verdict: Verdict }) {
  const Icon = ICONS[tone]
  return (
    <div className="flex items-center gap-3.5 px-4 py-4">
      <span className={cx('grid size-9 shrink-0 place-items-center rounded-full', TONE_WASH[tone])}>
        <Icon className="size-5" strokeWidth={2} aria-hidden="true" />
      </span>
      <div className="min-w-0">
        <h2 id="verdict" aria-live="polite" className="text-lg font-semibold tracking-tight tabular-nums">
          {title}
        </h2>
        <p className="text-sm text-faint tabular-nums">{detail}</p>
      </div>
    </div>
  )
}

type LineProps = {
  /** Tooltip of the label. */
  meaning?: string
  icon: LucideIcon
  tone: Tone
  label: string
  sentence: ReactNode
  /** The whole line is a link. */
  isLink: boolean
  below?: ReactNode
  /** Buttons, instead of the arrow of a link. */
  actions?: ReactNode
  children: ReactNode
}

function Line({ meaning, icon: Icon, tone, label, sentence, isLink, below, actions, children }: LineProps) {
  return (
    <li
      className={cx(
        'relative grid grid-cols-[1.125rem_minmax(0,1fr)_auto] gap-x-3 px-4 py-3 last:rounded-b-lg',
        isLink && 'transition-colors hover:bg-sunken',
      )}
    >
      <Icon className={cx('mt-0.5 size-4', TONE_TEXT[tone])} strokeWidth={2.25} aria-hidden="true" />
      <div className="min-w-0">
        <p className="font-medium wrap-anywhere">{sentence}</p>
        <p className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-faint">
          <span className={cx('font-medium', TONE_TEXT[tone])} title={meaning} aria-description={meaning}>
            {label}
          </span>
          {children}
        </p>
        {below}
      </div>
      {actions}
      {isLink && !actions && <ChevronRight className="size-4 self-center text-faint" aria-hidden="true" />}
    </li>
  )
}

/** Makes a link cover its whole line. */
const stretched = 'rounded-sm after:absolute after:inset-0'

/** An incident, with what people can do about it. */
function IncidentLine({ incident }: { incident: Incident }) {
  const { id, headline, state, opened, monitors, acknowledged, first_monitors } = incident
  const { icon, tone } = incidentDisplay(state)
  const isQuiet = acknowledged !== null || isSnoozed(incident, Date.now())
  return (
    <Line
      icon={icon}
      tone={isQuiet ? 'idle' : tone}
      label={incidentLabel(state)}
      sentence={
        <Link to="/incidents/$incident" params={{ incident: id }} className={stretched}>
          {visibleLines(headline)}
        </Link>
      }
      isLink
      below={monitors > 1 && <NamedMonitors monitors={first_monitors} />}
      actions={
        <div className="relative z-10 flex flex-wrap items-center gap-2 max-sm:col-start-2 max-sm:mt-2 sm:self-center">
          <IncidentActions incident={incident} size="sm" />
        </div>
      }
    >
      <span>{failedText(incident)}</span>
      <span>
        started <Time at={opened} />
      </span>
      <IncidentStanding incident={incident} />
    </Line>
  )
}

function CauseLine({ cause, isNeverValid }: { cause: Cause; isNeverValid: boolean }) {
  const { reason, state, since, monitors, count, is_awaited: isAwaited } = cause
  const { icon, tone, label } = STATE_DISPLAY[state]
  const [only] = monitors
  const isLink = count === 1 && only !== undefined
  const sentence = isLink ? (
    <Link to="/monitors/$monitor" params={{ monitor: only.id }} className={stretched}>
      {reason.text}
    </Link>
  ) : (
    reason.text
  )
  return (
    <Line
      meaning={stateTitle(state)}
      icon={icon}
      tone={isAwaited ? 'idle' : tone}
      label={isAwaited ? `${label}, awaited` : isNeverValid ? `${label}, never valid` : label}
      sentence={sentence}
      isLink={isLink}
      below={!isLink && <AffectedMonitors cause={cause} />}
    >
      {since && (
        <span>
          started <Time at={since} />
        </span>
      )}
    </Line>
  )
}

const MAX_NAMED = 3

/** The first affected monitors, with a link to all. */
function AffectedMonitors({ cause: { state, domain, monitors, count } }: { cause: Cause }) {
  const named = monitors.slice(0, MAX_NAMED)
  return (
    <NamedMonitors monitors={named}>
      {count > named.length && (
        <Link to="/monitors" search={{ search: domain, state }} className={nameLink}>
          Show all {count.toLocaleString()}
        </Link>
      )}
    </NamedMonitors>
  )
}

type NamedProps = {
  monitors: readonly Pick<Cause['monitors'][number], 'id' | 'name' | 'record_type'>[]
  children?: ReactNode
}

const nameLink = 'relative z-10 inline-block rounded-sm py-[3px] text-accent-ink hover:underline'

function NamedMonitors({ monitors, children }: NamedProps) {
  return (
    <p className="mt-0.5 flex flex-wrap gap-x-4 text-xs">
      {monitors.map(({ id, name, record_type }) => (
        <Link key={id} to="/monitors/$monitor" params={{ monitor: id }} className={nameLink}>
          <Code>{name}</Code> {record_type}
        </Link>
      ))}
      {children}
    </p>
  )
}

function AlertLine({ alert: { tone, label, title, advice } }: { alert: Alert }) {
  return (
    <Line icon={tone === 'bad' ? ServerOff : Clock} tone={tone} label={label} sentence={title} isLink={false}>
      <span className="min-w-0 wrap-anywhere">{advice}</span>
    </Line>
  )
}

type FailingWebhook = Overview['webhooks']['trouble'][number]

const HEALTH_DISPLAY = {
  paused: {
    icon: CirclePause,
    tone: 'bad',
    label: 'Paused',
    sentence: (webhook: string) => `The webhook ${webhook} is paused. Its requests are queued.`,
  },
  failing: {
    icon: CircleAlert,
    tone: 'warn',
    label: 'Failing',
    sentence: (webhook: string) => `The webhook ${webhook} is failing. The last attempt was not accepted.`,
  },
} as const

const webhookSentence = ({ url, health }: FailingWebhook) => HEALTH_DISPLAY[health].sentence(hostAndPath(url))

function WebhookLine({ webhook: { id, url, health, last_error, waiting } }: { webhook: FailingWebhook }) {
  const { icon, tone, label, sentence } = HEALTH_DISPLAY[health]
  return (
    <Line
      icon={icon}
      tone={tone}
      label={label}
      isLink
      sentence={
        <Link to="/webhooks/$webhook" params={{ webhook: id }} title={url} className={stretched}>
          {sentence(hostAndPath(url))}
        </Link>
      }
    >
      {last_error && <span className="min-w-0 wrap-anywhere">{last_error}</span>}
      <span>{queuedText(waiting)}</span>
    </Line>
  )
}

function queuedText(waiting: number): string {
  if (waiting === 0) return 'No requests queued.'
  if (waiting >= 1_000) return '1,000 or more requests queued.'
  return plural(waiting, '1 request queued.', (number) => `${number} requests queued.`)
}

/** Host and path. The query is often long, and can contain secrets. */
function hostAndPath(url: string): string {
  const { host, pathname } = new URL(url)
  return pathname === '/' ? host : host + pathname
}
