import type { Clock } from '../clock.ts'
import type { Outcome, Pool } from '../dns/outcome.ts'
import { fingerprint } from './judge.ts'
import { areSame, isGood, majority } from './replies.ts'

/** One place that can be asked again and again. */
export type Voice = () => Promise<Outcome>

/**
 * What asking several times came to. `steady`: all voices always say the same. `recorded`: they give parts of the set that
 * is recorded. `pool`: a voice gives now this part, now that; the outcome holds all that was seen. `wavering`: a voice now
 * answers and now denies; the outcome is what is said most often. `divided`: each keeps to its own.
 */
export type Sampled =
  | { kind: 'steady'; outcome: Outcome }
  | { kind: 'recorded'; outcome: Outcome }
  | { kind: 'pool'; outcome: Answer; answers: Answer[] }
  | { kind: 'wavering'; outcome: Outcome }
  | { kind: 'divided' }

type Answer = Extract<Outcome, { kind: 'answer' }>

/** How likely it may be that one more member of a pool stayed unseen: in a change that is to be told, and where none is. */
const CHANCE = 1e-6
const CHANCE_OF_NO_CHANGE = 1e-2
export const MOST_SAMPLES = 64
/** A verdict must not take for ever where servers answer slowly: what always was the same until then is taken as it is. */
const MOST_MS = 3_000
/** After this many rounds in which every voice kept to its own answer, they are of different opinions. */
const ROUNDS_OF_OWN = 3

/**
 * Asks until it is nearly certain that no member of the set, and no other opinion, stayed unseen, or until the recorded set
 * was seen. `heard`: what each voice said before.
 */
export async function sample(
  voices: readonly Voice[],
  heard: readonly Outcome[],
  recorded: number | null,
  clock: Clock,
): Promise<Sampled> {
  const until = clock.elapsed() + MOST_MS
  const said = voices.map((_, at): Outcome[] => heard.slice(at, at + 1).filter(isGood))
  for (let rounds = 1; ; rounds++) {
    const all = said.flat()
    const isSteady = areSame(all)
    const turns = said.some((own) => own.length > 1 && !areSame(own))
    if (all.length === 0 || (!isSteady && !turns && rounds > ROUNDS_OF_OWN)) return { kind: 'divided' }
    const isLate = clock.elapsed() >= until
    const found = isSteady || turns ? conclude(all, recorded, isLate) : undefined
    if (found) return found
    const more = isLate ? [] : await Promise.all(voices.map((voice) => voice()))
    for (const [at, outcome] of more.entries()) if (isGood(outcome)) said[at]!.push(outcome)
    if (!more.some(isGood)) return isSteady ? { kind: 'steady', outcome: all[0]! } : { kind: 'divided' }
  }
}

/** Undefined while too little was said. */
function conclude(all: readonly Outcome[], recorded: number | null, isLate: boolean): Sampled | undefined {
  const chance = recorded === null ? CHANCE_OF_NO_CHANGE : CHANCE
  const isSteady = areSame(all)
  const answers = all.filter(isAnswer)
  if (answers.length < all.length) {
    if (!isLate && 0.5 ** all.length >= chance) return undefined
    return isSteady ? { kind: 'steady', outcome: all[0]! } : { kind: 'wavering', outcome: mostOf(all) }
  }
  const union = unionOf(answers)
  // Not as soon as the recorded set was seen: one more member may have come.
  if (!isSteady && fingerprint(union) === recorded && completeness(answers, union, CHANCE_OF_NO_CHANGE)) {
    return { kind: 'recorded', outcome: { ...union, pool: 'whole' } }
  }
  const pool = completeness(answers, union, chance) ?? (isLate ? 'part' : undefined)
  if (pool === undefined) return undefined
  return isSteady ? { kind: 'steady', outcome: answers[0]! } : { kind: 'pool', outcome: { ...union, pool }, answers }
}

/** A set that shows in parts counts as one. */
function mostOf(all: readonly Outcome[]): Outcome {
  const answers = all.filter(isAnswer)
  return answers.length * 2 > all.length
    ? unionOf(answers)
    : majority(
        all.filter((each) => !isAnswer(each)),
        null,
      )!
}

/** Undefined while too few answers were seen to tell. With one more member, an answer would leave it out this often. */
function completeness(answers: readonly Answer[], union: Answer, chance: number): Pool | undefined {
  const mean = answers.reduce((sum, answer) => sum + sizeOf(answer), 0) / answers.length
  const missed = 1 - mean / (sizeOf(union) + 1)
  if (missed ** answers.length < chance) return 'whole'
  return answers.length >= MOST_SAMPLES ? 'part' : undefined
}

/** Where the aliases on the way count, each of them is a member. */
function sizeOf({ rrset, chain }: Answer): number {
  return rrset.values.length + (rrset.type === 'CNAME' ? chain.length : 0)
}

/** All values of several answers to one question, and all aliases on the ways to them. */
export function unionOf(answers: readonly Answer[]): Answer {
  const first = answers[0]!
  if (areSame(answers)) return first
  const values = [...new Set(answers.flatMap(({ rrset }) => rrset.values))].sort()
  const ttl = Math.min(...answers.map(({ rrset }) => rrset.ttl))
  const links = new Map(answers.flatMap(({ chain }) => chain.map((link) => [`${link.name} ${link.target}`, link])))
  const chain = [...links.keys()].sort().map((key) => links.get(key)!)
  return { ...first, rrset: { ...first.rrset, values, ttl }, chain }
}

export function isAnswer(outcome: Outcome): outcome is Answer {
  return outcome.kind === 'answer'
}
