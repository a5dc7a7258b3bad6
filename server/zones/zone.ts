import { createHash } from 'node:crypto'
import { dnssecCauseText, UNKNOWN_REASONS, UNSIGNED_REASONS } from '#contract/dnssec.ts'
import { REGISTRATION_PROBLEMS } from '#contract/zone-codes.ts'
import type { Zone } from '#contract/zones.ts'
import type { Registration } from '../registrations/facts.ts'
import { HOUR_MS, MINUTE_MS, toIso, toIsoOrNull } from '../times.ts'
import { validated } from './checks/dnssec-bogus.ts'
import { lastOfEachType } from './checks/signatures-expire.ts'
import { isAnswering, type ZoneFacts } from './facts.ts'
import type { IgnoredFinding } from './findings.ts'
import { goesDark } from './goes-dark.ts'
import type { ZoneMemory } from './memory.ts'

/** A look without a result is repeated sooner. */
const AGAIN_AFTER_WITHHELD_MS = 5 * MINUTE_MS

/**
 * When the next regular look is due: at the place of the zone in each hour. It comes from the name, so that looks are spread evenly, and
 * that organizations with the same zone share one.
 */
export function nextRegularLook(name: string, now: number): number {
  const place = createHash('sha256').update(name).digest().readUInt32BE(0) % HOUR_MS
  return now - ((now - place) % HOUR_MS) + HOUR_MS
}

/** `lookAgainAt`: of the findings. The end of an ignored finding changes the health, too. */
export function nextLookAt(
  name: string,
  now: number,
  { lookAgainAt, ignored }: { lookAgainAt: number | undefined; ignored: readonly IgnoredFinding[] },
): number {
  const ends = ignored.flatMap(({ until }) => (until !== null && until > now ? [until] : []))
  return Math.max(now, Math.min(nextRegularLook(name, now), lookAgainAt ?? Number.POSITIVE_INFINITY, ...ends))
}

export const afterWithheld = (name: string, now: number): number =>
  Math.min(nextRegularLook(name, now), now + AGAIN_AFTER_WITHHELD_MS)

/** What the API shows of a look. It has no time but that of the look-up of the registration, so that an unchanged zone is written once a day. */
export type ShownFacts = Pick<Zone, 'servers' | 'dnssec' | 'goes_dark' | 'registration'>

const MAX_ADDRESSES = 4

export function shownFacts(facts: ZoneFacts, memory: ZoneMemory): ShownFacts {
  const { servers, ds } = facts
  return {
    servers: servers.map(({ name, isDelegated, isInZone, ips, response }) => ({
      name,
      is_delegated: isDelegated,
      is_in_zone: isInZone ?? false,
      ip_addresses: (ips ?? []).slice(0, MAX_ADDRESSES),
      state: response.kind,
      serial: response.kind === 'answers' ? response.soa.serial : null,
      tcp: response.kind === 'answers' ? response.tcp : null,
    })),
    dnssec: shownDnssec({ servers, ds }),
    goes_dark: goesDark(facts, memory),
    registration: facts.registration && shownRegistration(facts.registration),
  }
}

function shownRegistration({ domain, facts, lookedUpAt, problem }: Registration): ShownFacts['registration'] {
  const registered = facts?.state === 'registered' ? facts : undefined
  return {
    domain,
    state: facts?.state ?? 'unknown',
    registrar: registered?.registrar ?? null,
    expires: toIsoOrNull(registered?.expiresAt ?? null),
    statuses: registered?.statuses ?? [],
    looked_up: toIsoOrNull(lookedUpAt),
    problem: problem && { code: problem, text: REGISTRATION_PROBLEMS[problem] },
  }
}

function shownDnssec({ servers, ds }: Pick<ZoneFacts, 'servers' | 'ds'>): ShownFacts['dnssec'] {
  const answering = servers.filter(isAnswering)
  const signatures = ds?.length ? answering.flatMap(({ response }) => lastOfEachType(response.signatures)) : []
  const first = signatures.length === 0 ? null : Math.min(...signatures.map(({ expiration }) => expiration))
  const signatures_expire = first === null ? null : toIso(first)
  const found = validated(servers)
  if (!found) {
    const verdict = answering.map(({ response }) => response.verdict).find((each) => each?.kind === 'unknown')
    const reason = verdict?.kind === 'unknown' ? withoutRfc(UNKNOWN_REASONS[verdict.reason]) : null
    return { state: 'unknown', reason, signatures_expire }
  }
  const [bogus] = found.bogus
  if (bogus) {
    const reason = dnssecCauseText(bogus.cause)
    return { state: found.others > 0 ? 'partly_bogus' : 'bogus', reason, signatures_expire }
  }
  const unsigned = answering.map(({ response }) => response.verdict).find((each) => each?.kind === 'unsigned')
  if (unsigned?.kind !== 'unsigned') return { state: 'secure', reason: null, signatures_expire }
  return { state: 'unsigned', reason: withoutRfc(UNSIGNED_REASONS[unsigned.reason]), signatures_expire: null }
}

const withoutRfc = (text: string) => text.split(' RFC ', 1)[0]!
