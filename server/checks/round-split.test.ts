import { expect, test } from 'vitest'
import { insertEach } from '../database/bulk.ts'
import { roundAt, roundStart } from '../monitors/round-ranges.ts'
import { createRounds } from '../monitors/rounds.ts'
import { onBothEngines } from '../testing/database.ts'
import { beginRound, claimRounds, finishRound, MAX_ROUND_SIZE } from './round-store.ts'

const START = Date.UTC(2026, 10, 21)
const FREQUENCY = 5
const CHECK = {
  ...({ slot: 'bigint', monitor_id: 'text', organization_id: 'text', owner: 'text', record_type: 'text' } as const),
  ...({ is_exact_match: 'bigint', frequency: 'bigint', since_round: 'bigint' } as const),
}

onBothEngines('a range with more monitors than a round may have', (fresh) => {
  test('is split, and each of its monitors is checked once', async () => {
    const db = await fresh()
    const number = roundAt({ frequency: FREQUENCY, first_slot: 0 }, START)
    const rows = Array.from({ length: 2_000 }, (_, slot) => ({
      ...{
        slot: slot * 1_000,
        monitor_id: `mon_${slot}`,
        organization_id: 'org_a',
        owner: 'a.example',
        record_type: 'A',
      },
      ...{ is_exact_match: 1 as const, frequency: FREQUENCY, since_round: number },
    }))
    await insertEach(db, 'due_checks', CHECK, rows)
    await createRounds(db, rows)

    const checked: number[] = []
    const now = roundStart({ frequency: FREQUENCY, first_slot: 0 }, number) + 60_000
    for (let count = 0; count < 200; count++) {
      const [claim] = await claimRounds(db, { now, process: 1, limit: 1 })
      if (!claim) break
      const round = await beginRound(db, claim, now)
      if (!round) continue
      expect(round.checks.length).toBeLessThanOrEqual(MAX_ROUND_SIZE)
      checked.push(...round.checks.map(({ slot }) => slot))
      await finishRound(db, claim, round)
    }

    expect(checked.sort((a, b) => a - b)).toEqual(rows.map(({ slot }) => slot))
  })
})
