import { expect, test } from 'vitest'
import type { MonitorState } from '#contract/monitors.ts'
import type { VerdictReason } from '#contract/reasons.ts'
import { onBothEngines } from '../../testing/database.ts'
import { givenApp } from '../../testing/test-app.ts'

onBothEngines('setup pages', (_fresh, engine) => {
  test('a page gives the advice of the last check, without what only the organization can do', async () => {
    const world = await givenApp(engine)
    const { body } = await world.call('/monitors', {
      method: 'POST',
      body: { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1', until: 'valid' },
    })
    const path = `${new URL(body.wait.setup_page.url).pathname}/state`
    const { db, clock } = world.deps
    const adviceAt = async (state: MonitorState, values: string[], verdict: VerdictReason, nowFound = values) => {
      const seen = { state, values: nowFound, unexpected: nowFound, zone: 'example.com', nameServers: [] }
      await db
        .updateTable('waits')
        .set({ seen: JSON.stringify(seen), seen_at: clock.now() })
        .execute()
      const diagnosis = JSON.stringify({ verdict, confirmation: [], paths: [] })
      await db
        .updateTable('monitors')
        .set({ state, current_values: JSON.stringify(values), diagnosis })
        .execute()
      return (await world.call(path, { key: null })).body.records[0].advice
    }
    const record = { name: 'www.example.com', type: 'A' }
    const chain = ['www.example.com', 'a.example', 'www.example.com']
    expect(await adviceAt('BAD_SETUP', [], { code: 'cname_loop', params: { name: record.name, chain } })).toEqual([
      'The CNAME chain of www.example.com is a loop: www.example.com → a.example → www.example.com. Point one of these CNAME records to a name that has records.',
    ])
    const [observed, missing] = [['198.51.100.7'], ['192.0.2.1']]
    const mismatch: VerdictReason = {
      code: 'unexpected_values',
      params: {
        ...{ name: record.name, record_type: 'A', record, observed, matched: [], missing, unexpected: observed },
        counts: { observed: 1, matched: 0, missing: 1, unexpected: 1 },
      },
    }
    expect(await adviceAt('MISMATCH', observed, mismatch)).toEqual([
      'Replace 198.51.100.7 with 192.0.2.1 in the A records of www.example.com at your DNS provider.',
    ])
    expect(await adviceAt('MISMATCH', observed, mismatch, ['198.51.100.8'])).toEqual([])
  })
})
