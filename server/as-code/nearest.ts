/** The known name that is most like a wrong one; undefined if none is alike. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) > MAX_DISTANCE) continue
    const distance = distanceOf(name.toLowerCase(), candidate.toLowerCase())
    if (distance <= Math.min(MAX_DISTANCE, name.length / 2) && (!best || distance < best.distance))
      best = { name: candidate, distance }
  }
  return best?.name
}

const MAX_DISTANCE = 4
const MAX_CHARACTERS = 100

/** How many characters to insert, delete or replace (Levenshtein). */
function distanceOf(left: string, right: string): number {
  const [from, to] = [left.slice(0, MAX_CHARACTERS), right.slice(0, MAX_CHARACTERS)]
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)))
    row = next
  }
  return row[to.length]!
}
