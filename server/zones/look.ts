import type { WithheldReason } from '#contract/zone-codes.ts'
import type { Clock } from '../clock.ts'
import { parseDsText } from '../dns/dnssec/dnssec-records.ts'
import type { ServerValidator } from '../dns/dnssec/server-validator.ts'
import { CHECK_STEPS, ValidationWork } from '../dns/dnssec/validation-work.ts'
import type { ValidationCall } from '../dns/dnssec-validator.ts'
import { isSubdomain } from '../dns/names.ts'
import type { NetworkCheck } from '../dns/network-check.ts'
import type { Outcome } from '../dns/outcome.ts'
import type { PacketSender } from '../dns/packet-sender.ts'
import type { AuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import type { NameServer } from '../dns/resolver/delegation.ts'
import { QueryBudget } from '../dns/resolver/query-budget.ts'
import type { CachedView, ZoneView } from '../dns/resolver/zone-view.ts'
import { OverloadError, type Semaphore } from '../dns/semaphore.ts'
import { type AnsweringServer, isAnswering, MAX_SERVERS, type ServerFacts, type ZoneFacts } from './facts.ts'
import { isOwnClockWrong } from './own-clock.ts'
import { askNsec3Iterations, askServer, type ServerQueries } from './server-queries.ts'

/** What one look at a zone has: facts, or why it has none. Findings then neither begin nor end. */
export type Look = { kind: 'facts'; facts: ZoneFacts } | { kind: 'withheld'; reason: WithheldReason }

export type LookDeps = {
  clock: Clock
  /** The clients are undefined with DNS_ROOTS=off. */
  authoritativeClient: AuthoritativeClient | undefined
  serverValidator: ServerValidator | undefined
  packetSender: PacketSender
  /** Of all name servers. */
  port: number
  networkCheck: NetworkCheck | undefined
  /** Of checks and looks that may keep large answers. */
  largeChecks?: Semaphore | undefined
  timeoutMs?: number
}

/** Validations are the dearest part of a look. */
const MAX_VALIDATED = 8

/** Asks the servers of the parent zone, and each server of the zone. Rejects only with the signal's reason. */
export async function lookAtZone(zone: string, deps: LookDeps, group: string, signal: AbortSignal): Promise<Look> {
  const { authoritativeClient, serverValidator, networkCheck, clock } = deps
  if (!authoritativeClient || !serverValidator) return { kind: 'withheld', reason: 'no_roots' }
  const isOffline = async () => networkCheck !== undefined && (await networkCheck.state()) !== 'ok'
  if ((await isOffline()) || (await authoritativeClient.findRootProblem()) !== undefined)
    return { kind: 'withheld', reason: 'network' }
  const at = clock.now()
  const budget = new QueryBudget(deps.largeChecks, group)
  const call = { signal, group, budget, work: new ValidationWork(CHECK_STEPS) }
  try {
    // Another server of the parent zone comes first each time.
    const number = Math.floor(at / 60_000) % MAX_SERVERS
    const view = await authoritativeClient.zoneView({ name: zone, type: 'SOA' }, { fresh: true, number, ...call })
    if (!view) return { kind: 'withheld', reason: 'busy' }
    if (view.isUnknown) return { kind: 'withheld', reason: 'parent_silent' }
    if (view.zone !== zone || view.isDenied) return { kind: 'facts', facts: undelegated(zone, at, view) }
    const facts = await askServers(view, { ...deps, authoritativeClient, serverValidator }, at, call)
    if (isOwnClockWrong(facts.servers)) return { kind: 'withheld', reason: 'clock' }
    // What failed may have failed because of the own network.
    if (!facts.servers.every(isAnswering) && (await isOffline())) return { kind: 'withheld', reason: 'network' }
    return { kind: 'facts', facts }
  } catch (error) {
    if (error instanceof OverloadError) return { kind: 'withheld', reason: 'busy' }
    throw error
  } finally {
    budget.close()
  }
}

function undelegated(zone: string, at: number, view: CachedView): ZoneFacts {
  const parentZone = view.zone === zone ? zone.slice(zone.indexOf('.') + 1) : view.zone
  return { zone, at, delegation: null, parentZone, servers: [], ds: null, nsec3Iterations: null, registration: null }
}

type Deps = LookDeps & { authoritativeClient: AuthoritativeClient; serverValidator: ServerValidator }
type Call = ValidationCall & { budget: QueryBudget }

async function askServers(view: CachedView, deps: Deps, at: number, call: Call): Promise<ZoneFacts> {
  const { zone } = view
  const servers = await Promise.all(
    namesOf(view).map(async (server) => ({ ...server, ips: server.ips ?? (await resolve(deps, server.name, call)) })),
  )
  const known: ZoneView = { ...view, nameServers: servers.map(({ name, ips }) => ({ name, ips: ips ?? [] })) }
  const ds = await askDs(deps, zone, call)
  const queries: ServerQueries = { ...deps, zone, call, isSigned: ds === null || ds.length > 0 }
  const asked = await Promise.all(
    servers.map(
      async (server): Promise<ServerFacts> => ({
        ...server,
        isInZone: view.ownNameServers?.includes(server.name) ?? null,
        glue: null,
        response: server.ips === null ? { kind: 'unknown' } : await askServer(queries, server.ips),
      }),
    ),
  )
  const first = asked.findIndex(isAnswering)
  const [glue, nsec3Iterations] = await Promise.all([
    first < 0 ? new Map() : askGlue(view, { view: known, server: first }, deps, call),
    first < 0 || !queries.isSigned ? null : askNsec3Iterations(queries, asked[first]!.ips ?? []),
    validate(asked, known, deps, call),
  ])
  for (const server of asked) server.glue = glue.get(server.name) ?? null
  const delegation = { nameServers: view.nameServers.map(({ name }) => name).sort() }
  return { zone, at, delegation, parentZone: '', servers: asked, ds, nsec3Iterations, registration: null }
}

/** The delegated servers first, so that those that only the zone names cannot displace them. */
function namesOf({ nameServers, ownNameServers }: ZoneView): (NameServer & { isDelegated: boolean })[] {
  const delegated = nameServers.map(({ name, ips }) => ({ name, ips, isDelegated: true }))
  const names = new Set(nameServers.map(({ name }) => name))
  const others = (ownNameServers ?? []).filter((name) => !names.has(name))
  return [...delegated, ...others.map((name) => ({ name, ips: undefined, isDelegated: false }))].slice(0, MAX_SERVERS)
}

/** Null if they cannot be resolved now. Without addresses in the operator's network. */
async function resolve({ authoritativeClient }: Deps, name: string, call: Call): Promise<string[] | null> {
  const replies = await Promise.all(
    (['A', 'AAAA'] as const).map((type) => authoritativeClient.query({ name, type }, call)),
  )
  const ips = replies.flatMap(({ outcome }) => addressesIn(outcome))
  if (ips.length === 0) return replies.every(({ outcome }) => saysAddresses(outcome)) ? [] : null
  return ips.filter((ip) => !authoritativeClient.isPrivate(ip)).slice(0, MAX_ADDRESSES)
}
const MAX_ADDRESSES = 4

async function askDs({ authoritativeClient, clock }: Deps, zone: string, call: Call) {
  const { outcome } = await authoritativeClient.query({ name: zone, type: 'DS' }, { since: clock.elapsed(), ...call })
  if (outcome.kind === 'answer') return outcome.rrset.values.flatMap((text) => parseDsText(text) ?? [])
  return outcome.kind === 'nodata' ? [] : null
}

/** The first server says whether the parent zone has DS records. Without them, the others need not be asked. */
async function validate(
  servers: readonly ServerFacts[],
  view: ZoneView,
  { serverValidator }: Deps,
  call: Call,
): Promise<void> {
  const [first, ...others] = servers.filter(isAnswering)
  if (!first) return
  const validateOne = async (server: AnsweringServer) => {
    const question = { name: view.zone, type: 'SOA' } as const
    server.response.verdict = await serverValidator.validate(question, view, servers.indexOf(server), call)
  }
  await validateOne(first)
  if (first.response.verdict?.kind === 'unsigned') return
  await Promise.all(others.slice(0, MAX_VALIDATED - 1).map(validateOne))
}

type Glue = NonNullable<ServerFacts['glue']>

/** Only of name servers inside the zone, whose addresses only the zone itself knows. `at`: the server of the zone to ask. */
async function askGlue(
  { zone, nameServers }: ZoneView,
  at: { view: ZoneView; server: number },
  { authoritativeClient }: Deps,
  call: Call,
): Promise<Map<string, Glue>> {
  const inside = nameServers.filter(({ name, ips }) => isSubdomain(name, zone) && ips?.length)
  const found = await Promise.all(
    inside.map(async ({ name, ips = [] }): Promise<[string, Glue][]> => {
      const types = ['A', 'AAAA'] as const
      const replies = await Promise.all(types.map((type) => authoritativeClient.query({ name, type }, { ...call, at })))
      if (!replies.every(({ outcome }) => saysAddresses(outcome))) return []
      return [[name, { delegation: ips, zone: replies.flatMap(({ outcome }) => addressesIn(outcome)) }]]
    }),
  )
  return new Map(found.flat())
}

const saysAddresses = ({ kind }: Outcome) => kind === 'answer' || kind === 'nodata' || kind === 'nxdomain'
const addressesIn = (outcome: Outcome) => (outcome.kind === 'answer' ? outcome.rrset.values : [])
