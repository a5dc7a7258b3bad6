import type { Outcome, ServerAddress } from '../dns/outcome.ts'
import { OverloadError } from '../dns/semaphore.ts'
import { formatServer } from '../dns/server-address.ts'
import type { ServerAnswer } from '../planned-changes/planned-change.ts'
import { truncate } from '../text.ts'
import type { Recorded } from './check-state.ts'
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
    queryNameServers(recorded, query, deps, signal),
  ])
  return [...servers, ...resolvers].map(({ kind, server, outcome }) => ({
    kind,
    server,
    ...answerOf(recorded, change, outcome),
  }))
}

const MAX_RESOLVERS = 8
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

/** A server that did not answer has no outcome. */
async function queryNameServers(
  { owner: name, recordType }: Recorded,
  query: MonitorQuery,
  { authoritativeClient }: CheckDeps,
  signal: AbortSignal,
): Promise<ServerOutcome[]> {
  if (!authoritativeClient || (await authoritativeClient.findRootProblem()) !== undefined) return []
  const view = await authoritativeClient.zoneView({ name, type: recordType.queryType }, { fresh: true, signal })
  if (!view) return []
  const replies = await Promise.all(
    view.nameServers.map((_, server) =>
      unlessBusy(() => queryNameServer(authoritativeClient, query, { view, server, fresh: true }, signal)),
    ),
  )
  return view.nameServers
    .map(({ name: server }, index): ServerOutcome => {
      const reply = replies[index]
      return { kind: 'name_server', server, outcome: reply?.nameServer === undefined ? undefined : reply.outcome }
    })
    .sort((one, other) => (one.server < other.server ? -1 : 1))
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
