import { isFiltered } from '../dns/extended-errors.ts'
import type { Outcome } from '../dns/outcome.ts'
import {
  addEvidence,
  type Confirmation,
  doubtful,
  type Hearing,
  isSeldomMember,
  MOST_DOUBTS,
  serverOf,
  settled,
  wavering,
} from './hearing.ts'
import { fingerprint } from './judge.ts'
import { isFailure, isGood, isSame, majority, mostTelling } from './replies.ts'
import { isAnswer, sample } from './sampling.ts'
import { hearOne, hearZone, type Testimony } from './testimony.ts'
import { findDispute, viewOf } from './view.ts'
import { asideWords, serversAgree, WORDS } from './wording.ts'

/** `failure`: what the zone's servers came to where none gave a good answer; absent where they were not asked. */
export type ByZone = { confirmation?: Confirmation; failure?: Outcome }

/**
 * Asks the zone's own name servers. What they agree on settles the matter at once, against caches and failures alike.
 * Without a confirmation the recursive servers have to decide, and `hearing.aside` says why.
 */
export async function confirmByZone(hearing: Hearing): Promise<ByZone> {
  const { doors, suspicion } = hearing
  if (!doors.authorities) return {}
  const trouble = await doors.authorities.trouble()
  if (trouble !== undefined) {
    hearing.aside = asideWords(trouble)
    return {}
  }
  let heard = await hear(hearing, false)
  const isOutdoing = heard.some(({ outcome, isFromCache }) => isFromCache && isGood(outcome))
  if (isOutdoing && !isSupported(heard, suspicion.first.outcome)) {
    // Before the zone outdoes what a recursive server says, be sure that it has not moved to other servers.
    heard = await hear(hearing, true)
  }
  const good = heard.filter(({ outcome }) => isGood(outcome))
  if (good.length === 0) {
    if (heard.some(({ isBusy }) => isBusy)) {
      hearing.aside = asideWords('so much is being asked of them that there was no turn in time')
      return {}
    }
    const failure = mostTelling(heard.map(({ outcome }) => outcome))
    hearing.aside = asideWords(`none of them gave a usable answer (${failure.kind})`)
    return { failure }
  }
  if (await isOtherView(hearing, good)) return {}
  return { confirmation: await decide(hearing, good) }
}

async function hear(hearing: Hearing, fresh: boolean): Promise<Testimony[]> {
  const { doors, suspicion, signal } = hearing
  const heard = await hearZone(doors.authorities!, suspicion.ask, { fresh, signal })
  for (const { evidence } of heard) addEvidence(hearing, evidence)
  return heard
}

function isSupported(heard: readonly Testimony[], first: Outcome): boolean {
  return heard.every(({ outcome }) => isSame(outcome, first))
}

/** Where the zone contradicts the recursive servers: whether they see another zone, which then is not ours to overrule. */
async function isOtherView(hearing: Hearing, good: Testimony[]): Promise<boolean> {
  const { suspicion, doors, signal } = hearing
  const { first } = suspicion
  // A server that says that it blocks or forges has no view of its own.
  if (good.some((each) => isSame(each.outcome, first.outcome)) || isFiltered(first)) return false
  const tries = isFailure(first.outcome) ? 1 : 2
  const viewDoors = { dns: doors.dns, authorities: doors.authorities!, servers: serverOf(first), tries, signal }
  const dispute = await findDispute(good[0]!, first.outcome, viewDoors)
  const view = await viewOf(dispute, viewDoors)
  if (view === 'same') return false
  // A name that only fails inside must not be taken for one that does not exist because the public does not know it.
  const isDenial = good.every((each) => !isAnswer(each.outcome))
  if (view === 'unknown' && !(isDenial && isFailure(first.outcome))) return false
  hearing.aside = view === 'other' ? WORDS.otherView(dispute.zone) : WORDS.unknownView(dispute.zone)
  return true
}

async function decide(hearing: Hearing, good: Testimony[]): Promise<Confirmation> {
  const { suspicion, doors, signal } = hearing
  const { recorded } = suspicion
  const isRecorded = good.every(({ outcome }) => fingerprint(outcome) === recorded)
  if (isRecorded) return agreed(hearing, good, good[0]!.outcome)
  // A change is worth more questions: the servers may say something else the next time.
  const speakers = onePerServer(good)
  const voices = speakers.map(({ voice }) => async () => {
    const { outcome, evidence } = await hearOne(doors.authorities!, suspicion.ask, voice, { signal })
    addEvidence(hearing, evidence)
    return outcome
  })
  const heard = speakers.map(({ outcome }) => outcome)
  const found = await sample(voices, heard, recorded, doors.clock)
  switch (found.kind) {
    case 'steady':
      return isSeldomMember(hearing, found.outcome) ? doubtful(hearing) : agreed(hearing, good, found.outcome)
    case 'recorded':
      return settled(hearing, found.outcome, WORDS.pool, namesOf(good))
    case 'pool': {
      // While a change travels from one machine of a server to the next, it looks like a pool for some minutes.
      const isNew = found.outcome.pool === 'whole' && recorded !== null && suspicion.doubts < MOST_DOUBTS
      return isNew ? doubtful(hearing) : settled(hearing, found.outcome, WORDS.pool, namesOf(good))
    }
    case 'wavering':
      return wavering(hearing, found.outcome)
    case 'divided':
      return divided(hearing, good)
  }
}

function agreed(hearing: Hearing, good: Testimony[], outcome: Outcome): Confirmation {
  const witnesses = namesOf(good)
  return settled(hearing, outcome, serversAgree(witnesses), witnesses)
}

/** The zone's servers say different things, and each keeps to its own. */
function divided(hearing: Hearing, good: Testimony[]): Confirmation {
  const { suspicion } = hearing
  if (suspicion.doubts < MOST_DOUBTS) return doubtful(hearing)
  const outcomes = good.map(({ outcome }) => outcome)
  const found = majority(outcomes, suspicion.recorded, [suspicion.first.outcome]) ?? outcomes[0]!
  const witnesses = namesOf(good.filter(({ outcome }) => isSame(outcome, found)))
  return settled(hearing, found, WORDS.zoneDivided(namesOf(good)), witnesses)
}

/** Of those that came to the same server the one that found it soonest: the others begin at servers that do not answer. */
function onePerServer(good: readonly Testimony[]): Testimony[] {
  const byServer = new Map<string | undefined, Testimony>()
  for (const each of [...good].sort((one, other) => other.evidence.length - one.evidence.length)) {
    byServer.set(each.nameServer, each)
  }
  return [...byServer.values()]
}

function namesOf(heard: readonly Testimony[]): string[] {
  return [...new Set(heard.flatMap(({ nameServer }) => nameServer ?? []))].sort()
}
