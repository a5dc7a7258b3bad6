import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { createKeyring } from '../keyring.ts'
import { givenChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { readBody } from '../webhooks/request-body.ts'
import { insertWebhook } from '../webhooks/webhook-store.ts'

type Checks = Awaited<ReturnType<typeof givenChecks>>

const keyring = createKeyring('x'.repeat(32))

/** A webhook, and what it was to be sent so far. */
async function givenWebhook(db: Database, { organizationId }: Checks, groups: string[]) {
  const { id } = await insertWebhook(db, keyring, systemContext(organizationId, 0), {
    url: 'https://receiver.example/',
    groups,
  })
  const received = async () => {
    const rows = await db
      .selectFrom('webhook_requests')
      .select(['organization_id', 'body', 'event_offset', 'event_id'])
      .where('webhook_id', '=', id)
      .orderBy('id')
      .execute()
    return await Promise.all(rows.map(async (row) => JSON.parse((await readBody(db, row)).toString()).event))
  }
  return { received }
}

onBothEngines('what a check tells', (fresh) => {
  test('goes to each webhook of the group as one event, and to no other', async () => {
    const db = await fresh()
    const checks = await givenChecks(db)
    const webhooks = [await givenWebhook(db, checks, ['default']), await givenWebhook(db, checks, ['default'])]
    const other = await givenWebhook(db, checks, [])
    checks.set('www.example.com', 'A', ['192.0.2.1'])
    const id = await checks.monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })

    await checks.check()
    await checks.check()

    const [event] = await checks.events(id)
    for (const webhook of webhooks) expect(await webhook.received()).toEqual([event])
    expect(await other.received()).toEqual([])
  })

  test('is what the monitor wants to be notified of', async () => {
    const db = await fresh()
    const checks = await givenChecks(db)
    const webhook = await givenWebhook(db, checks, ['default'])
    const ids: Record<string, string> = {}
    for (const notify of ['immediately', 'on_success', 'after_success'] as const) {
      ids[await checks.monitor({ record_type: 'A', expected_value: '192.0.2.1', notify })] = notify
    }

    for (const value of ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.1']) {
      checks.set('www.example.com', 'A', [value])
      await checks.check()
    }

    const received = (await webhook.received()).map(
      (event) => `${ids[event.monitor_id]}: ${event.old_state} ${event.new_state}`,
    )
    expect(received.sort()).toEqual([
      'after_success: VALID MISMATCH',
      'immediately: MISMATCH MISMATCH',
      'immediately: MISMATCH VALID',
      'immediately: UNSET VALID',
      'immediately: VALID MISMATCH',
      'on_success: MISMATCH VALID',
      'on_success: UNSET VALID',
    ])
  })

  test('says the values found before and now, none where nothing was learned, and [] where there is no record', async () => {
    const db = await fresh()
    const checks = await givenChecks(db)
    const webhook = await givenWebhook(db, checks, ['default'])
    checks.set('www.example.com', 'A', ['192.0.2.1'])
    await checks.monitor({ record_type: 'A', expected_value: '192.0.2.1' })

    await checks.check()
    checks.each((server) => server.fail('www.example.com', 'SERVFAIL'))
    await checks.check()
    checks.each((server) => server.recover('www.example.com'))
    checks.each((server) => server.remove('www.example.com', 'A'))
    await checks.check()

    const valued = (await webhook.received()).map(({ old_state, new_state, previous_value, current_value }) => [
      `${old_state} ${new_state}`,
      previous_value,
      current_value,
    ])
    expect(valued).toEqual([
      ['UNSET VALID', undefined, ['192.0.2.1']],
      ['VALID INVALID', ['192.0.2.1'], undefined],
      ['INVALID NOT_FOUND', ['192.0.2.1'], []],
    ])
  })
})
