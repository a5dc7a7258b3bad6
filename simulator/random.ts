/** Random numbers from a seed. The same seed gives the same numbers. */
export type Random = {
  /** A number from 0 up to, but not including, 1. */
  next(): number
  /** An integer from 0 up to, but not including, `limit`. */
  below(limit: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
  /** In place. */
  shuffle<T>(list: T[]): T[]
}

/** Mulberry32: short, and with the same results on every machine. */
export function createRandom(seed: number): Random {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  const shuffle = <T>(list: T[]): T[] => {
    for (let index = list.length - 1; index > 0; index--) {
      const other = below(index + 1)
      ;[list[index], list[other]] = [list[other]!, list[index]!]
    }
    return list
  }
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (from) => from[below(from.length)]!,
    shuffle,
  }
}
