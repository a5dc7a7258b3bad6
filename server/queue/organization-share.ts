/** What one organization may take of the places that the others leave, so that some are always left. */
export const ORGANIZATION_SHARE = 1 / 2

/** How many of the free places one claim may take. */
export const claimable = (free: number): number => Math.ceil(free * ORGANIZATION_SHARE)

/** The organizations that have their share of the places. `inProgress`: the organization of each place that is taken. */
export function organizationsWithShare(inProgress: Iterable<string>, places: number): string[] {
  const own = new Map<string, number>()
  let taken = 0
  for (const id of inProgress) {
    own.set(id, (own.get(id) ?? 0) + 1)
    taken++
  }
  return [...own].flatMap(([id, count]) => (count >= (places - taken + count) * ORGANIZATION_SHARE ? [id] : []))
}
