import type { Clock } from '../clock.ts'
import type { Outcome, Pool } from '../dns/outcome.ts'
import { fingerprint } from './judge.ts'
import { areSame, isFailure, isGood } from './replies.ts'

/** One place that can be asked again and again. */
export type Voice = () => Promise<Outcome>

/**
 * What asking several times came to. `steady`: all voices always say the same. `recorded`: they give parts of the set that
 * is recorded. `pool`: a voice gives now this part, now that; the outcome holds all that was seen. `divided`: each keeps to
 * its own.
 */
export type Sampled =
  | { kind: 'steady'; outcome: Outcome }
  | { kind: 'recorded'; outcome: Outcome }
  | { kind: 'pool'; outcome: Answer; answers: Answer[] }
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
 * Asks until it is nearly certain that no member of the set stayed unseen, or until the recorded set was seen. `heard`:
 * what each voice said before.
 */
export async function sample(
  voices: readonly Voice[],
  heard: readonly Outcome[],
  recorded: number | null,
  clock: Clock,
): Promise<Sampled> {
  const until = clock.elapsed() + MOST_MS
  const chance = recorded === null ? CHANCE_OF_NO_CHANGE : CHANCE
  const said = voices.map((_, at): Outcome[] => heard.slice(at, at + 1).filter(isGood))
  for (let rounds = 1; ; rounds++) {
    const all = said.flat()
    const answers = all.filter(isAnswer)
    if (answers.length < all.length || answers.length === 0) return { kind: 'divided' }
    const union = unionOf(answers)
    const turns = said.some((own) => own.length > 1 && !areSame(own))
    // Not as soon as the recorded set was seen: one more member may have come.
    const isRecorded = turns && fingerprint(union) === recorded
    if (isRecorded && completeness(answers, union, CHANCE_OF_NO_CHANGE)) return { kind: 'recorded', outcome: union }
    if (!turns && !areSame(all) && rounds > ROUNDS_OF_OWN) return { kind: 'divided' }
    const isLate = clock.elapsed() >= until
    if (isLate && !turns) return areSame(all) ? { kind: 'steady', outcome: answers[0]! } : { kind: 'divided' }
    const pool = completeness(answers, union, chance) ?? (isLate ? 'part' : undefined)
    if (pool !== undefined) {
      if (areSame(all)) return { kind: 'steady', outcome: answers[0]! }
      if (turns) return { kind: 'pool', outcome: { ...union, pool }, answers }
    }
    const more = await Promise.all(voices.map((voice) => voice()))
    for (const [at, outcome] of more.entries()) if (!isFailure(outcome)) said[at]!.push(outcome)
    if (more.every(isFailure)) return areSame(all) ? { kind: 'steady', outcome: answers[0]! } : { kind: 'divided' }
  }
}

/** Undefined while too few answers were seen to tell. With one more member, an answer would leave it out this often. */
function completeness(answers: readonly Answer[], union: Answer, chance: number): Pool | undefined {
  const mean = answers.reduce((sum, { rrset }) => sum + rrset.values.length, 0) / answers.length
  const missed = 1 - mean / (union.rrset.values.length + 1)
  if (missed ** answers.length < chance) return 'whole'
  return answers.length >= MOST_SAMPLES ? 'part' : undefined
}

/** All values of several answers to one question. */
export function unionOf(answers: readonly Answer[]): Answer {
  const first = answers[0]!
  const values = [...new Set(answers.flatMap(({ rrset }) => rrset.values))].sort()
  const ttl = Math.min(...answers.map(({ rrset }) => rrset.ttl))
  return { ...first, rrset: { ...first.rrset, values, ttl } }
}

export function isAnswer(outcome: Outcome): outcome is Answer {
  return outcome.kind === 'answer'
}
