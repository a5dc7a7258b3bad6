import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import { exchange } from './exchange.ts'
import type { Evidence, Outcome, Question } from './outcome.ts'
import { noteExchange, type Path } from './paths.ts'
import type { QueryOptions } from './query.ts'

/** What one call of `ask` may use and has used: `leftMs` of exchanges, and the record of them. */
export type Lookup = {
  query: Omit<QueryOptions, 'edns'>
  timeoutMs: number
  tries: number
  mostWaitMs: number
  leftMs: number
  signal: AbortSignal | undefined
  accept: ((evidence: Evidence) => boolean) | undefined
  evidence: Evidence[]
}

type Doors = { clock: Clock; deadlines: Deadlines }

/** Asks the servers one after the other until one settles the question; otherwise the most telling failure. */
export async function tryServers(doors: Doors, paths: Path[], question: Question, lookup: Lookup): Promise<Outcome> {
  const candidates = [...paths]
  const failures: Outcome[] = []
  for (let tries = 0; tries < lookup.tries && lookup.leftMs > 0; tries++) {
    const path = candidates.shift()
    if (!path) break
    const outcome = await askServer(doors, path, question, lookup)
    const last = lookup.evidence.at(-1)
    if (lookup.accept && last ? lookup.accept(last) : isSettled(outcome, lookup.query.recursionDesired)) return outcome
    failures.push(outcome)
    // Only silence may be a lost packet; asked again, a server would fail in the same way.
    if (outcome.kind === 'timeout') candidates.push(path)
  }
  return mostTelling(failures)
}

/** At most four exchanges: UDP, TCP where that is truncated, and both without EDNS where the server cannot read it. */
async function askServer(doors: Doors, path: Path, question: Question, lookup: Lookup): Promise<Outcome> {
  let transport: Evidence['transport'] = 'udp'
  let edns = true
  let outcome: Outcome = { kind: 'timeout' }
  while (lookup.leftMs > 0) {
    const evidence = await exchangeInTurn(doors, path, transport, question, edns, lookup)
    if (evidence.outcome === null) {
      transport = 'tcp'
      continue
    }
    outcome = evidence.outcome
    if (!edns || !isEdnsRefused(outcome)) return outcome
    edns = false
    transport = 'udp'
  }
  return outcome
}

async function exchangeInTurn(
  doors: Doors,
  path: Path,
  transport: Evidence['transport'],
  question: Question,
  edns: boolean,
  lookup: Lookup,
): Promise<Evidence> {
  const paced = path.pace.wait(lookup.mostWaitMs, lookup.signal)
  if (paced) await paced
  const placed = path.slots.acquire(lookup.signal)
  if (placed) await placed
  let isAside = false
  try {
    const evidence = await exchange(doors.clock, doors.deadlines, {
      server: path.server,
      transport,
      send: transport === 'udp' ? path.udp.send : path.tcp,
      question,
      query: { ...lookup.query, edns },
      timeoutMs: Math.min(lookup.timeoutMs, lookup.leftMs),
      signal: lookup.signal,
      onSilence: () => {
        isAside = path.slots.stepAside()
      },
    })
    lookup.leftMs -= evidence.ms
    lookup.evidence.push(evidence)
    if (evidence.outcome) noteExchange(path, question.type, isUsable(evidence.outcome))
    return evidence
  } finally {
    path.slots.release(isAside)
  }
}

// RFC 6891 section 7.
function isEdnsRefused(outcome: Outcome): boolean {
  return outcome.kind === 'failure' && (outcome.rcode === 'FORMERR' || outcome.rcode === 'NOTIMP')
}

function isSettled(outcome: Outcome, recursionDesired: boolean): boolean {
  switch (outcome.kind) {
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'endless_alias':
      return true
    case 'referral':
      return !recursionDesired || outcome.chain.length > 0
    case 'failure':
    case 'lame':
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return false
  }
}

/** Whether a server does what it is there for. A referral is as much as some can say. */
function isUsable(outcome: Outcome): boolean {
  return outcome.kind === 'referral' || isSettled(outcome, false)
}

function mostTelling(failures: Outcome[]): Outcome {
  const order = ['failure', 'malformed', 'referral', 'unreachable']
  for (const kind of order) {
    const found = failures.find((outcome) => outcome.kind === kind)
    if (found) return found
  }
  return { kind: 'timeout' }
}
