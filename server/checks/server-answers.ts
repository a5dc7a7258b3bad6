import type { Outcome, ServerAddress } from '../dns/outcome.ts'
import { OverloadError } from '../dns/semaphore.ts'
import { formatServer } from '../dns/server-address.ts'
import type { ServerAnswer } from '../planned-changes/planned-change.ts'
import { truncate } from '../text.ts'
import type { NameServerReply, Recorded } from './check-state.ts'
import { type MonitorQuery, queryNameServer } from './monitor-query.ts'
import { isAnswer } from './outcomes.ts'
import type { StartedChange } from './planned-change-match.ts'
import type { CheckDeps } from './run-check.ts'
import { evaluate } from './verdict.ts'

/** What each resolver and each of the zone's name servers answers during a planned change. */
export async function queryEveryServer(
  recorded: Recorded,
  change: StartedChange,
  query: MonitorQuery,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<ServerAnswer[]> {
  const [resolvers, servers] = await Promise.all([
    Promise.all(deps.dns.servers.slice(0, MAX_RESOLVERS).map((server) => queryResolver(server, query, deps, signal))),
    queryNameServers(query, deps, signal),
  ])
  return [...servers, ...resolvers].map(({ kind, server, outcome }) => ({
    kind,
    server,
    ...answerOf(recorded, change, outcome),
  }))
}

const MAX_RESOLVERS = 8
const MAX_NAME_SERVERS = 13
const QUERY_TIMEOUT_MS = 5_000

type ServerOutcome = Pick<ServerAnswer, 'kind' | 'server'> & { outcome: Outcome | undefined }

async function queryResolver(
  server: ServerAddress,
  query: MonitorQuery,
  { dns }: CheckDeps,
  signal: AbortSignal,
): Promise<ServerOutcome> {
  const reply = await unlessBusy(() => query(dns, { servers: [server], totalTimeoutMs: QUERY_TIMEOUT_MS, signal }))
  return { kind: 'resolver', server: formatServer(server), outcome: reply?.outcome }
}

/** The first reply names the other servers. A server that did not answer itself has no outcome, also if another one answered in its place. */
async function queryNameServers(
  query: MonitorQuery,
  { authoritativeClient }: CheckDeps,
  signal: AbortSignal,
): Promise<ServerOutcome[]> {
  if (!authoritativeClient || (await authoritativeClient.findRootProblem()) !== undefined) return []
  const queryServer = (server: number, fresh: boolean) =>
    unlessBusy(() => queryNameServer(authoritativeClient, query, server, fresh, signal))
  const first = await queryServer(0, true)
  if (!first) return []
  const count = Math.min(first.nameServers.length, MAX_NAME_SERVERS)
  const others = await Promise.all(
    Array.from({ length: Math.max(0, count - 1) }, (_, index) => queryServer(index + 1, false)),
  )
  const replies = new Map<string, NameServerReply>()
  for (const reply of [first, ...others]) {
    if (reply?.nameServer !== undefined && !replies.has(reply.nameServer)) replies.set(reply.nameServer, reply)
  }
  const names = [...new Set([...first.nameServers.slice(0, MAX_NAME_SERVERS), ...replies.keys()])].sort()
  return names.map((server) => ({ kind: 'name_server', server, outcome: replies.get(server)?.outcome }))
}

async function unlessBusy<T>(send: () => Promise<T>): Promise<T | undefined> {
  try {
    return await send()
  } catch (error) {
    if (error instanceof OverloadError) return undefined
    throw error
  }
}

const MAX_VALUES = 10
const MAX_CHARACTERS = 200

function answerOf(
  recorded: Recorded,
  change: StartedChange,
  outcome: Outcome | undefined,
): Pick<ServerAnswer, 'answer' | 'values' | 'ttl'> {
  if (outcome === undefined || !['answer', 'nodata', 'nxdomain'].includes(outcome.kind))
    return { answer: 'none', values: [], ttl: null }
  const { values = [] } = evaluate({ ...recorded, change: undefined }, outcome)
  const shortened = values.slice(0, MAX_VALUES).map((value) => truncate(value, MAX_CHARACTERS))
  const ttl = isAnswer(outcome) ? Math.max(outcome.rrset.ttl, ...outcome.chain.map((link) => link.ttl)) : null
  return { answer: classifyAnswer(recorded, change, outcome), values: shortened, ttl }
}

function classifyAnswer(recorded: Recorded, change: StartedChange, outcome: Outcome): ServerAnswer['answer'] {
  // The new values first: in flexible mode an answer may contain both.
  if (meetsValues(recorded, change.newValues, outcome)) return 'new'
  if (meetsValues(recorded, change.oldValues, outcome)) return 'old'
  return evaluate({ ...recorded, change: { ...change, isOver: false } }, outcome).state === 'VALID' ? 'mixed' : 'other'
}

/** Whether the outcome is VALID for a monitor that expects these values. */
export function meetsValues(recorded: Recorded, expectedValues: readonly string[], outcome: Outcome): boolean {
  return evaluate({ ...recorded, expectedValues, change: undefined }, outcome).state === 'VALID'
}
