import type { Overview } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { plural } from '#contract/wording.ts'
import { whereText } from '../monitors/failing.tsx'
import type { Tone } from '../ui/state.tsx'
import { fullTime } from '../ui/time.tsx'

export type Verdict = { tone: Tone; title: string; detail: string }

/** A problem of the server itself. */
export type Alert = { key: string; tone: 'bad' | 'warn'; label: string; title: string; advice: string }

/** A check so recent shows that a process checks, however late its reports are on a busy server. */
const RECENT_MS = 60_000

export function serverAlerts({ processes, checks, webhooks }: Overview, now: number): Alert[] {
  const { checking, cut_off, delivering } = processes
  const sinceCheck = checks.last_checked === null ? Number.POSITIVE_INFINITY : now - Date.parse(checks.last_checked)
  const alerts: (Alert | false)[] = [
    checking === 0 &&
      (sinceCheck < RECENT_MS
        ? {
            key: 'checking',
            tone: 'warn',
            label: 'Checks slow',
            title: `Checks are slow. The last one completed ${agoText(sinceCheck)}.`,
            advice:
              'No process has reported a completed round of checks in time. Check the CPU and the database of the server.',
          }
        : {
            key: 'checking',
            tone: 'bad',
            label: 'Checks stopped',
            title: 'No process reports that it checks monitors.',
            advice:
              'The states shown may be out of date. Start a process with the role checker, or restart the one that hangs.',
          }),
    cut_off > 0 && {
      key: 'network',
      tone: cut_off === checking ? 'bad' : 'warn',
      label: 'Network',
      title:
        cut_off === checking
          ? 'The server cannot resolve its canary names.'
          : `${cut_off} of ${checking} checking processes cannot resolve their canary names.`,
      advice:
        'Check the network and the resolver of the server (DNS_SERVERS, DNS_CANARIES). Zonewatch records no failures until a canary name resolves.',
    },
    delivering === 0 &&
      webhooks.count > 0 && {
        key: 'delivering',
        tone: 'bad',
        label: 'Deliveries stopped',
        title: 'No process reports that it delivers webhook requests.',
        advice: 'Requests are queued. Start a process with the role delivery, or restart the one that hangs.',
      },
    checks.late > 0 && {
      key: 'checks',
      tone: 'warn',
      label: 'Late',
      title: plural(
        checks.late,
        '1 check is more than a minute late.',
        (number) => `${number} checks are more than a minute late.`,
      ),
      advice: 'The state of these monitors may be out of date.',
    },
    webhooks.late > 0 && {
      key: 'deliveries',
      tone: 'warn',
      label: 'Late',
      title: plural(
        webhooks.late,
        'Deliveries to 1 webhook are more than a minute late.',
        (number) => `Deliveries to ${number} webhooks are more than a minute late.`,
      ),
      advice: 'Requests are queued and sent as soon as possible.',
    },
  ]
  return alerts.filter((alert) => alert !== false)
}

/** The overall state, and the time of the last check. */
export function overallVerdict(overview: Overview, now: number): Verdict {
  const { active, states, failing } = overview
  const issues = issueCount(overview, now)
  const detail = lastCheckText(overview, now)
  if (failing.monitors + issues > 0) {
    const monitors = failing.monitors > 0 ? [failingTitle(failing.monitors)] : []
    return {
      tone: toneOf(overview, now),
      title: [...monitors, ...(issues > 0 ? [issuesTitle(issues, monitors.length > 0)] : [])].join(', '),
      detail: failing.monitors > 0 ? `${capitalized(whereText(failing))}. ${detail}` : detail,
    }
  }
  if (active === 0) return { tone: 'idle', title: 'No active monitors', detail: 'Enable a monitor or create one.' }
  const waiting = states.UNSET ?? 0
  if (waiting > 0) {
    return {
      tone: 'idle',
      title: plural(waiting, '1 monitor has no result yet', (number) => `${number} monitors have no result yet`),
      detail,
    }
  }
  return { tone: 'good', title: plural(active, '1 monitor valid', (number) => `${number} monitors valid`), detail }
}

/** Shown instead of a verdict while the current state is unknown. */
export const unknownVerdict = (problem: Error | null, asOf: number): Verdict => ({
  tone: 'warn',
  title: 'The current state is unknown',
  detail: `${problem?.message ?? 'The connection to the server is lost.'} Last update: ${fullTime(asOf)}.`,
})

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

const failingTitle = (count: number) =>
  plural(count, '1 monitor is failing', (number) => `${number} monitors are failing`)

const issuesTitle = (count: number, isOther: boolean) =>
  isOther
    ? plural(count, '1 other issue', (number) => `${number} other issues`)
    : plural(count, '1 issue needs attention', (number) => `${number} issues need attention`)

function toneOf(overview: Overview, now: number): Tone {
  const { failing, webhooks } = overview
  if (failing.in_incidents + failing.failed_now + failing.never_valid + webhooks.paused > 0) return 'bad'
  const alerts = serverAlerts(overview, now)
  if (alerts.some(({ tone }) => tone === 'bad')) return 'bad'
  return alerts.length + webhooks.failing > 0 ? 'warn' : 'idle'
}

/** The number of server problems and of webhooks that are paused or failing. Monitors that fail are counted by `failing`. */
export const issueCount = (overview: Overview, now: number): number =>
  serverAlerts(overview, now).length + overview.webhooks.paused + overview.webhooks.failing

function lastCheckText({ checks }: Overview, now: number): string {
  if (checks.last_checked === null) return 'No check has completed yet.'
  return `Last check: ${agoText(now - Date.parse(checks.last_checked))}.`
}

/** Counts seconds at first, so that the user sees it change. */
export function agoText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 2) return 'just now'
  if (seconds < 90) return `${seconds} seconds ago`
  const minutes = Math.round(seconds / 60)
  if (minutes < 90) return `${minutes} minutes ago`
  const hours = Math.round(minutes / 60)
  return hours < 36 ? `${hours} hours ago` : `${Math.round(hours / 24)} days ago`
}

/** The order of the bar. */
const ORDER: readonly MonitorState[] = [
  'VALID',
  'UNSET',
  'MISMATCH',
  'NOT_FOUND',
  'NO_DATA',
  'BAD_SETUP',
  'INVALID',
  'TIMEOUT',
]

/** The states that occur, with their counts. */
export const stateCounts = ({ states }: Overview): { state: MonitorState; count: number }[] =>
  ORDER.map((state) => ({ state, count: states[state] ?? 0 })).filter(({ count }) => count > 0)
