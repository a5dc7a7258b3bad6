import type { Outcome, Reply, ServerAddress } from '../dns/outcome.ts'
import { formatServer } from '../dns/servers.ts'
import { findEndless } from './endless.ts'
import {
  addEvidence,
  type Confirmation,
  doubtful,
  type Hearing,
  isSeldomMember,
  MOST_DOUBTS,
  PAUSE_MS,
  serverOf,
  settled,
  wavering,
} from './hearing.ts'
import { fingerprint } from './judge.ts'
import { distinct, isFailure, isGood, isSame, majority, mostTelling } from './replies.ts'
import { isAnswer, sample, unionOf } from './sampling.ts'
import { WORDS } from './wording.ts'

/** How many further recursive servers are asked. */
const OTHERS = 2

/**
 * Asks recursive servers other than the one that raised the suspicion, or the same one afresh where there is only one.
 * `zoneFailure`: how the zone's own servers failed, where they were asked.
 */
export async function confirmByRecursion(
  hearing: Hearing,
  before: readonly Reply[],
  zoneFailure: Outcome | undefined,
): Promise<Confirmation> {
  const { suspicion, doors } = hearing
  const replies = [suspicion.first, ...before]
  let found = await decide(hearing, replies, zoneFailure)
  for (const servers of furtherPaths(doors.dns.servers, replies)) {
    if (found) break
    replies.push(await askAgain(hearing, servers, replies))
    found = await decide(hearing, replies, zoneFailure)
  }
  if (found) return found
  // One good answer beside failures is worth a second question to the same server.
  const [good, another] = replies.filter(({ outcome }) => isGood(outcome))
  if (good && !another) {
    replies.push(await askAgain(hearing, serverOf(good), replies))
    return (await decide(hearing, replies, zoneFailure)) ?? (await divided(hearing, replies))
  }
  return await divided(hearing, replies)
}

/** Asks afresh; after a failure only when a pause has passed. */
export async function askAgain(
  { suspicion, doors, signal, evidence }: Hearing,
  servers: readonly ServerAddress[],
  replies: readonly Reply[],
): Promise<Reply> {
  if (replies.some(({ outcome }) => isFailure(outcome))) await doors.clock.sleep(PAUSE_MS, signal)
  const reply = await suspicion.ask(doors.dns, { servers, signal })
  evidence.push(...reply.evidence)
  return reply
}

function furtherPaths(servers: readonly ServerAddress[], replies: readonly Reply[]): ServerAddress[][] {
  const asked = new Set(replies.flatMap(({ evidence }) => evidence.map(({ server }) => server)))
  const others = servers.filter((server) => !asked.has(formatServer(server)))
  const paths = others.slice(0, OTHERS).map((server) => [server])
  return paths.length > 0 || replies.length > 1 ? paths : [[...servers]]
}

/** Undefined while two paths have not yet agreed. */
async function decide(
  hearing: Hearing,
  replies: readonly Reply[],
  zoneFailure: Outcome | undefined,
): Promise<Confirmation | undefined> {
  const { recorded } = hearing.suspicion
  if (replies.length < 2) return undefined
  const good = replies.map(({ outcome }) => outcome).filter(isGood)
  if (good.length === 0) return await failed(hearing, replies, zoneFailure)
  const agreed = good.find((outcome, at) => good.findIndex((other) => isSame(other, outcome)) < at)
  if (agreed) return await steady(hearing, replies, agreed)
  // Beside failures alone, one answer that is what is recorded already ends the matter.
  const [only] = good
  const isKept = good.length === 1 && fingerprint(only!) === recorded
  return isKept ? settled(hearing, only!, WORDS.recordedStill) : undefined
}

async function failed(hearing: Hearing, replies: readonly Reply[], zoneFailure: Outcome | undefined) {
  const outcomes = replies.map(({ outcome }) => outcome)
  if (zoneFailure?.kind === 'lame') return settled(hearing, zoneFailure, WORDS.lame)
  const endless = await findEndless(hearing, replies)
  if (endless) return settled(hearing, endless, WORDS.endless)
  return settled(hearing, mostTelling(outcomes), WORDS.failed(hearing.aside))
}

/** Servers that agree may still say something else the next time. */
async function steady(hearing: Hearing, replies: readonly Reply[], agreed: Outcome): Promise<Confirmation> {
  const { recorded, doubts } = hearing.suspicion
  if (recorded === null || fingerprint(agreed) === recorded) {
    return settled(hearing, agreed, recursiveAgree(hearing))
  }
  const backers = replies.filter(({ outcome }) => isSame(outcome, agreed))
  const sampled = await bySample(hearing, backers)
  if (sampled) return sampled
  return doubts < MOST_DOUBTS ? doubtful(hearing) : settled(hearing, agreed, WORDS.recursiveDivided)
}

/** Every path has been asked and no two agree. */
async function divided(hearing: Hearing, replies: readonly Reply[]): Promise<Confirmation> {
  const good = replies.filter(({ outcome }) => isGood(outcome))
  const answers = good.map(({ outcome }) => outcome).filter(isAnswer)
  if (good.length > 1) {
    const sampled = await bySample(hearing, good)
    if (sampled) return sampled
  }
  const { recorded, doubts } = hearing.suspicion
  if (doubts < MOST_DOUBTS) return doubtful(hearing)
  const outcomes = replies.map(({ outcome }) => outcome)
  const found = majority(outcomes, recorded)
  if (found) return settled(hearing, found, WORDS.recursiveDivided)
  if (answers.length === good.length) return settled(hearing, { ...unionOf(answers), pool: 'part' }, WORDS.pool)
  return settled(hearing, outcomes.find(isGood) ?? mostTelling(outcomes), WORDS.recursiveDivided)
}

/** Undefined where each server keeps to an answer of its own. */
async function bySample(hearing: Hearing, replies: readonly Reply[]): Promise<Confirmation | undefined> {
  const { suspicion, doors, signal } = hearing
  const { recorded, doubts } = suspicion
  const byServer = new Map(replies.map((reply) => [formatServer(serverOf(reply)[0]!), reply]))
  const voices = [...byServer.values()].map((reply) => async () => {
    const { outcome, evidence } = await suspicion.ask(doors.dns, { servers: serverOf(reply), signal })
    addEvidence(hearing, evidence)
    return outcome
  })
  const heard = [...byServer.values()].map(({ outcome }) => outcome)
  const found = await sample(voices, heard, recorded, doors.clock)
  switch (found.kind) {
    case 'steady':
      return isSeldomMember(hearing, found.outcome)
        ? doubtful(hearing)
        : settled(hearing, found.outcome, recursiveAgree(hearing))
    case 'recorded':
      return settled(hearing, found.outcome, WORDS.pool)
    case 'pool': {
      // Caches that hold the old set beside others that hold the new one: wait for the last of the old.
      const said = distinct(found.answers)
      const isAging = said.length === 2 && said.some((answer) => fingerprint(answer) === recorded)
      if (isAging && doubts >= MOST_DOUBTS) {
        const old = said.find((answer) => fingerprint(answer) === recorded)!
        return settled(hearing, old, WORDS.recursiveDivided)
      }
      const isNew = found.outcome.pool === 'whole' && recorded !== null && doubts < MOST_DOUBTS
      return isNew || isAging ? doubtful(hearing) : settled(hearing, found.outcome, WORDS.pool)
    }
    case 'wavering':
      return wavering(hearing, found.outcome)
    case 'divided':
      return undefined
  }
}

/** Where there is one server, nobody agrees with it: it said the same again. */
function recursiveAgree({ evidence, aside }: Hearing): string {
  const servers = new Set(evidence.filter(({ path }) => path !== 'authoritative').map(({ server }) => server))
  return WORDS.recursiveAgree(servers.size, aside)
}
