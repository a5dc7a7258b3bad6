export type UnknownSetting = { name: string; nearest: string }

/**
 * Variables of the environment that are probably mistyped settings. An environment holds variables of other programs too, so this only
 * finds names that differ from a setting in one or two letters, short ones in the order of two neighbours.
 */
export function findUnknownSettings(environment: Iterable<string>, known: readonly string[]): UnknownSetting[] {
  const names = known.flatMap((name) => [name, `${name}_FILE`])
  const set = new Set(names)
  const unknown: UnknownSetting[] = []
  for (const name of environment) {
    if (set.has(name) || !/^[A-Z][A-Z_]{3,63}$/.test(name)) continue
    const nearest = names.find((other) => isSwapped(name, other)) ?? nearestOf(name, names)
    if (nearest !== undefined) unknown.push({ name, nearest })
  }
  return unknown
}

/** Shorter names resemble those of other programs, such as HOME and HOST. */
const MIN_LENGTH = 8
const MAX_DISTANCE = 2

function nearestOf(name: string, names: readonly string[]): string | undefined {
  if (name.length < MIN_LENGTH) return undefined
  for (let distance = 1; distance <= MAX_DISTANCE; distance++) {
    const nearest = names.find(
      (other) =>
        other.length >= MIN_LENGTH &&
        Math.abs(other.length - name.length) <= distance &&
        differsIn(name, other) === distance,
    )
    if (nearest !== undefined) return nearest
  }
  return undefined
}

/** Whether two neighbouring letters changed places, and nothing else. */
function isSwapped(name: string, other: string): boolean {
  if (name.length !== other.length) return false
  const at = [...name].findIndex((letter, index) => letter !== other[index])
  return at >= 0 && name === other.slice(0, at) + (other[at + 1] ?? '') + other[at] + other.slice(at + 2)
}

/** The Levenshtein distance: letters to insert, delete or replace. */
function differsIn(name: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [y, letter] of [...name].entries()) {
    const next = [y + 1]
    for (let x = 0; x < other.length; x++) {
      next.push(Math.min(next[x]! + 1, row[x + 1]! + 1, row[x]! + (letter === other[x] ? 0 : 1)))
    }
    row = next
  }
  return row[other.length]!
}
