import type { Clock } from '../clock.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Plan, Plans } from '../plan.ts'
import { Problem } from '../problem.ts'
import { lockOrganization } from './lock.ts'
import { type Counted, countUse, planOf } from './usage.ts'

export type RoomDoors = { db: Database; clock: Clock; config: { plans: Plans } }

/**
 * Runs work that makes more of something, in one transaction, and takes it back when that is more than the plan allows.
 * Throws 402 with what is used and what is allowed. Two at the same time cannot share one last place. Costs nothing
 * where the plan has no limit.
 */
export async function withRoom<T>(
  { db, clock, config }: RoomDoors,
  organizationId: string,
  what: Counted,
  work: (transaction: Database) => Promise<T>,
): Promise<T> {
  const plan = await planOf(db, config.plans, organizationId)
  const limit = plan.limits[what]
  if (limit === null) return await work(db)
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const now = clock.now()
    const before = await countUse(transaction, organizationId, what, now)
    const made = await work(transaction)
    const after = await countUse(transaction, organizationId, what, now)
    if (after > limit && after > before) throw noRoom(plan, what, { limit, before, after })
    return made
  })
}

/** The shortest time between two checks that the plan allows, in minutes: what a new monitor gets. */
export async function leastFrequency({ db, config }: RoomDoors, organizationId: string): Promise<number> {
  const { limits } = await planOf(db, config.plans, organizationId)
  return Math.max(SHORTEST, limits.min_frequency ?? SHORTEST)
}

/** Throws 402 where a frequency that was asked for is shorter than the plan allows. */
export function refuseShorter(asked: number | undefined, least: number): void {
  if (asked === undefined || asked >= least) return
  throw new Problem(402, `Your plan allows a check every ${least} minutes at most; ${asked} was asked for.`)
}

/** Minutes: what the API itself allows. */
const SHORTEST = 5

const WORDS: Record<Counted, string> = {
  monitors: 'monitors',
  webhooks: 'webhooks',
  agents: 'agents, open invitations included',
  api_keys: 'live API keys',
}

type Numbers = { limit: number; before: number; after: number }

function noRoom(plan: Plan, what: Counted, { limit, before, after }: Numbers): Problem {
  return new Problem(
    402,
    `The plan ${plan.name} allows ${limit} ${WORDS[what]}; ${before} are in use and this would make ${after}.`,
  )
}
