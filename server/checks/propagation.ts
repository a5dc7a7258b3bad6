import type { Outcome, ServerAddress } from '../dns/outcome.ts'
import { OverloadError } from '../dns/semaphore.ts'
import { formatServer } from '../dns/server-address.ts'
import type { ServerAnswer } from '../planned-changes/planned-change.ts'
import type { NameServerReply, Recorded } from './check.ts'
import type { CheckDeps } from './driver.ts'
import type { ExpectedChange } from './expected-change.ts'
import { type MonitorQuery, queryNameServer } from './lookup.ts'
import { isAnswer } from './outcomes.ts'
import { evaluate } from './verdict.ts'

/** How far a planned change has come: what each resolver and each of the zone's name servers answers. */
export async function queryEveryServer(
  recorded: Recorded,
  change: ExpectedChange,
  lookup: MonitorQuery,
  deps: CheckDeps,
  signal: AbortSignal,
): Promise<ServerAnswer[]> {
  const [resolvers, servers] = await Promise.all([
    Promise.all(deps.dns.servers.slice(0, MAX_RESOLVERS).map((server) => queryResolver(server, lookup, deps, signal))),
    queryNameServers(lookup, deps, signal),
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
  lookup: MonitorQuery,
  { dns }: CheckDeps,
  signal: AbortSignal,
): Promise<ServerOutcome> {
  const reply = await unlessBusy(() => lookup(dns, { servers: [server], totalTimeoutMs: QUERY_TIMEOUT_MS, signal }))
  return { kind: 'resolver', server: formatServer(server), outcome: reply?.outcome }
}

/** The first one finds the others. A server that another one answered for gave no answer itself. */
async function queryNameServers(
  lookup: MonitorQuery,
  { authoritativeClient }: CheckDeps,
  signal: AbortSignal,
): Promise<ServerOutcome[]> {
  if (!authoritativeClient || (await authoritativeClient.findRootProblem()) !== undefined) return []
  const ask = (server: number, fresh: boolean) =>
    unlessBusy(() => queryNameServer(authoritativeClient, lookup, server, fresh, signal))
  const first = await ask(0, true)
  if (!first) return []
  const count = Math.min(first.nameServers.length, MAX_NAME_SERVERS)
  const others = await Promise.all(Array.from({ length: Math.max(0, count - 1) }, (_, at) => ask(at + 1, false)))
  const replies = new Map<string, NameServerReply>()
  for (const reply of [first, ...others]) {
    if (reply?.nameServer !== undefined && !replies.has(reply.nameServer)) replies.set(reply.nameServer, reply)
  }
  const names = [...new Set([...first.nameServers.slice(0, MAX_NAME_SERVERS), ...replies.keys()])].sort()
  return names.map((server) => ({ kind: 'name_server', server, outcome: replies.get(server)?.outcome }))
}

async function unlessBusy<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof OverloadError) return undefined
    throw error
  }
}

const MAX_VALUES = 10
const MAX_CHARACTERS = 200

function answerOf(
  recorded: Recorded,
  change: ExpectedChange,
  outcome: Outcome | undefined,
): Pick<ServerAnswer, 'answer' | 'values' | 'ttl'> {
  if (outcome === undefined || !['answer', 'nodata', 'nxdomain'].includes(outcome.kind))
    return { answer: 'none', values: [], ttl: null }
  const { values = [] } = evaluate({ ...recorded, change: undefined }, outcome)
  const shown = values.slice(0, MAX_VALUES).map((value) => value.slice(0, MAX_CHARACTERS).toWellFormed())
  const ttl = isAnswer(outcome) ? Math.max(outcome.rrset.ttl, ...outcome.chain.map((link) => link.ttl)) : null
  return { answer: classifyAnswer(recorded, change, outcome), values: shown, ttl }
}

function classifyAnswer(recorded: Recorded, change: ExpectedChange, outcome: Outcome): ServerAnswer['answer'] {
  // First the new ones: in flexible mode an answer may hold both.
  if (meetsValues(recorded, change.newValues, outcome)) return 'new'
  if (meetsValues(recorded, change.oldValues, outcome)) return 'old'
  return evaluate({ ...recorded, change: { ...change, isOver: false } }, outcome).state === 'VALID' ? 'mixed' : 'other'
}

/** Whether the outcome is what a monitor of these values expects. */
export function meetsValues(recorded: Recorded, expectedValues: readonly string[], outcome: Outcome): boolean {
  return evaluate({ ...recorded, expectedValues, change: undefined }, outcome).state === 'VALID'
}
