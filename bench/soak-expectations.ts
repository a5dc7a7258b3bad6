import { sql } from 'kysely'
import type { Database } from '../server/database/database.ts'

/** The record of each name, and the expected number of events. */
export type Expectations = {
  /** Changes a share of all records; returns them as first label and last octet, null for one that fails. */
  change(share: number): [label: string, last: number | null][]
  records: (number | null)[]
  events: number[]
}

export type Faults = { missed: number; double: number; wrong: number }

const FIRST = 1
const FAILING = 0.2

export function newExpectations(count: number, random: () => number): Expectations {
  const records: (number | null)[] = Array(count).fill(FIRST)
  const events: number[] = Array(count).fill(0)
  const other = (before: number | null): number | null => {
    if (random() < FAILING) return null
    const last = random() < 0.5 ? FIRST : 2 + Math.floor(random() * 200)
    return last === before ? last + 1 : last
  }
  return {
    records,
    events,
    change(share) {
      const numbers = new Set(Array.from({ length: Math.ceil(count * share) }, () => Math.floor(random() * count)))
      return [...numbers].flatMap((number): [string, number | null][] => {
        const last = other(records[number]!)
        if (last === records[number]) return []
        records[number] = last
        events[number]!++
        return [[`m${number}`, last]]
      })
    },
  }
}

/** Compares every monitor and its events with the expectations. */
export async function findFaults(db: Database, expectations: Expectations): Promise<Faults> {
  const { rows } = await sql<{ owner: string; state: string; current_values: string; events: number }>`
    select owner, state, current_values, (select count(*) from events where events.monitor_id = monitors.id) as events
    from monitors`.execute(db)
  const faults = { missed: 0, double: 0, wrong: 0 }
  for (const { owner, state, current_values, events } of rows) {
    const number = Number.parseInt(owner.slice(1), 10)
    const last = expectations.records[number]!
    const isValue = last === null || current_values === JSON.stringify([`192.0.2.${last}`])
    if (state !== stateOf(last) || !isValue) faults.wrong++
    const more = Number(events) - expectations.events[number]!
    if (more > 0) faults.double += more
    if (more < 0) faults.missed -= more
  }
  return faults
}

function stateOf(last: number | null): string {
  if (last === null) return 'INVALID'
  return last === FIRST ? 'VALID' : 'MISMATCH'
}

/** Mulberry32: small, and the same everywhere. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
