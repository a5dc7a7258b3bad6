import type { Clock } from '../clock.ts'

/** How long a name rests after it was worked for, in times of how long that took. */
const REST = 4

type Turn<T> = { rested: Promise<void>; next?: Promise<T> }

/**
 * Does the same work for many at once, by name. Anyone who comes while it is done shares the next turn, which begins after the
 * call and so misses nothing; dear work rests in between, so that it never takes more than a fifth of the time.
 */
export function oneAtATime<T>(clock: Clock): (name: string, work: () => Promise<T>) => Promise<T> {
  const turns = new Map<string, Turn<T>>()

  const begin = (name: string, work: () => Promise<T>): Promise<T> => {
    const began = clock.elapsed()
    const running = work()
    const rest = async () => {
      await running.catch(() => {})
      await clock.sleep(REST * (clock.elapsed() - began))
      if (!turn.next) turns.delete(name)
    }
    const turn: Turn<T> = { rested: rest() }
    turns.set(name, turn)
    return running
  }

  return (name, work) => {
    const turn = turns.get(name)
    if (!turn) return begin(name, work)
    turn.next ??= turn.rested.then(() => begin(name, work))
    return turn.next
  }
}
