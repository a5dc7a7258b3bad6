import type { ServerStatus } from '#contract/server.ts'
import { MAX_COUNTED_BACKLOG } from '#contract/server.ts'
import { plural } from '#contract/wording.ts'
import type { Tone } from '../ui/state.tsx'

export type Finding = { tone: Extract<Tone, 'bad' | 'warn'>; title: string; remedy: string }

const LATE_MS = 60_000
const DAY_MS = 24 * 60 * 60_000
const BACKUP_STALE_MS = 2 * DAY_MS

/** Problems that an operator should fix, worst first. */
export function serverFindings(status: ServerStatus): Finding[] {
  const { instances, checks, deliveries, alerts, upstreams, backup, database } = status
  const alive = instances.filter((instance) => instance.alive)
  const findings: Finding[] = []
  const add = (tone: Finding['tone'], title: string, remedy: string) => findings.push({ tone, title, remedy })
  for (const [role, title] of Object.entries(NO_PROCESS)) {
    const starting = alive.some(({ roles }) => roles.length === 0)
    if (!starting && !alive.some(({ roles }) => roles.includes(role)))
      add('bad', title, `Start a node with ${role} in ROLES.`)
  }
  if (alive.some(({ network }) => network !== null && network !== 'ok'))
    add('bad', 'Canary names do not resolve.', 'Check the network of the server and DNS_SERVERS.')
  if (checks.oldest_ms > LATE_MS)
    add('bad', 'Checks are late.', 'Check the resolvers and the database first. Then raise WORKERS or add a node.')
  for (const { address, traits } of upstreams) {
    if (traits?.rewrites_nxdomain)
      add(
        'bad',
        `The resolver ${address} invents records of names that do not exist.`,
        'Replace it in DNS_SERVERS: a deleted record looks as if it existed.',
      )
  }
  for (const { address, queries, failed } of upstreams) {
    if (queries >= 10 && failed / queries > 0.2)
      add(
        'warn',
        `The resolver ${address} leaves queries unanswered.`,
        'Replace it in DNS_SERVERS, or lower DNS_PER_SECOND.',
      )
  }
  if (upstreams.length > 0 && upstreams.every(({ traits }) => traits?.validates === false))
    add(
      'warn',
      'No resolver validates DNSSEC.',
      'Add one that validates to DNS_SERVERS, so that expired signatures are noticed.',
    )
  if (deliveries.oldest_ms > 2 * LATE_MS)
    add('warn', 'Webhook requests are late.', 'Raise DELIVERY_CONCURRENCY or add a node.')
  if (alerts.oldest_ms > 2 * LATE_MS)
    add('warn', 'Alerts are late.', 'Read the log of the nodes with delivery in ROLES, or add a node.')
  if (backup?.error) add('warn', 'The last backup failed.', backup.error)
  else if (backup?.made_at && Date.parse(status.at) - Date.parse(backup.made_at) > BACKUP_STALE_MS)
    add(
      'warn',
      'The last backup is more than two days old.',
      database.engine === 'postgres'
        ? 'Check zonewatch-dump.timer on the node with the dumps.'
        : 'Set BACKUP_DIR and BACKUP_EVERY, or run zonewatch backup.',
    )
  const versions = new Set(alive.flatMap(({ version }) => version ?? []))
  if (versions.size > 1)
    add('warn', `Instances run different versions: ${[...versions].join(', ')}.`, 'Finish the upgrade of every node.')
  return findings
}

const NO_PROCESS = {
  api: 'No process answers requests.',
  checker: 'No process checks monitors.',
  delivery: 'No process delivers webhook requests.',
}

/** "10,000 or more" if counting stopped. */
export const countText = (count: number): string =>
  count >= MAX_COUNTED_BACKLOG ? `${MAX_COUNTED_BACKLOG.toLocaleString()} or more` : count.toLocaleString()

export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const exponent = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  const value = bytes / 1_000 ** exponent
  return `${value.toLocaleString(undefined, { maximumFractionDigits: value < 10 && exponent > 0 ? 1 : 0 })} ${units[exponent]}`
}

export const msText = (ms: number): string =>
  ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s`

/** Growth over the recorded days. Null with fewer than two. */
export function databaseGrowth(
  { sizes, octets }: ServerStatus['database'],
  at: string,
): { octets: number; days: number } | null {
  const first = sizes[0]
  if (!first) return null
  const days = Math.round((Date.parse(at) - Date.parse(first.at)) / DAY_MS)
  return days < 1 ? null : { octets: octets - first.octets, days }
}

export function growthText({ octets, days }: { octets: number; days: number }): string {
  const size = octets < 0 ? `−${bytesText(-octets)}` : `+${bytesText(octets)}`
  return plural(days, `${size} in 1 day`, (number) => `${size} in ${number} days`)
}

type Resolver = ServerStatus['upstreams'][number]

/** What a resolver was seen to do. `at`: when it was asked; null before that. */
export function resolverBehavior({ traits, stale_at }: Pick<Resolver, 'traits' | 'stale_at'>) {
  const lines: { text: string; isProblem: boolean }[] = []
  const add = (text: string, isProblem: boolean) => lines.push({ text, isProblem })
  if (traits?.validates !== undefined && traits.validates !== null)
    add(traits.validates ? 'Validates DNSSEC' : 'Does not validate DNSSEC', false)
  if (traits?.rewrites_nxdomain) add('Invents records of missing names', true)
  if (stale_at !== null) add('Serves expired answers', false)
  if (lines.length === 0) add(traits === null ? 'Not asked yet' : 'Not known', false)
  return { lines, at: traits?.observed_at ?? null }
}
