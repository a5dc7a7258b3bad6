import { expect, test } from 'vitest'
import { givenAlertReceiver } from '../testing/alerts.ts'
import { CONTRACTS } from '../testing/channel-contracts.ts'
import { onBothEngines } from '../testing/database.ts'
import type { Answer } from '../testing/receiver.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

type Type = 'slack_app' | 'discord' | 'telegram' | 'matrix' | 'slack'

/** What stands in the requests for the message that they change or reply to. */
const REFERENCE = /1503435956\.000247|messages\/1127|"message_id":42|"event_id":"\$1"/

onBothEngines('messages about one incident', (_fresh, engine) => {
  async function givenChannel(type: Type) {
    const world = await givenAlertReceiver(engine, { delay: 0, repeat_every: 1 })
    const settings = CONTRACTS[type].settings(world.receiver.url)
    const made = await world.world.call('/channels', { method: 'POST', body: { name: type, type, settings } })
    const body = { channels: [made.body.id] }
    await world.world.call(`/alert-rules/${world.rule}`, { method: 'PATCH', body })
    const answers = (given: (path: string) => Answer) => world.receiver.answers(({ path }) => given(path))
    answers(() => CONTRACTS[type].accepts)
    const seen = () =>
      world.receiver.received.splice(0).map(({ method, path, body }) => {
        const last = path
          .replace(/\?.*/, '')
          .split('/')
          .at(-1)!
          .replace(/alr_\w+/, 'alr')
        return `${method} ${last}${REFERENCE.test(`${path} ${body}`) ? ' of the first' : ''}`
      })
    const recover = (monitor: string) => world.change({ monitor, from: 'MISMATCH', to: 'VALID' })
    return { ...world, answers, seen, recover }
  }

  test.each([
    ['slack_app', ['POST chat.postMessage', 'POST chat.update of the first', 'POST chat.postMessage of the first']],
    ['discord', [expect.any(String), 'PATCH 1127 of the first', expect.stringMatching(/^POST secret-token-[\w-]+$/)]],
    ['telegram', ['POST sendMessage', 'POST editMessageText of the first', 'POST sendMessage of the first']],
    ['matrix', ['PUT alr', 'PUT alr.edit of the first', 'PUT alr of the first']],
    ['slack', [expect.any(String), expect.stringMatching(/^POST secret-token-[\w-]+$/)]],
  ] as const)('the recovery edits the first message in %s, and replies to it', async (type, [first, ...rest]) => {
    const { fail, passing, seen, recover, world } = await givenChannel(type)
    const monitor = await fail('shop.example.com')
    expect(seen()).toEqual([first])
    await passing(HOUR_MS)
    const [repeated] = seen()
    expect(repeated!.endsWith('of the first')).toBe(!['discord', 'slack'].includes(type))
    await recover(monitor)
    await passing(0)
    expect(seen()).toEqual(rest)
    const { data } = (await world.call('/alerts')).body
    expect(data.filter(({ kind }: { kind: string }) => kind === 'recovered')).toMatchObject([
      { status: 'SENT', retries: 0 },
    ])
  })

  test('a recovery is sent even if people deleted the first message', async () => {
    const { fail, passing, seen, recover, answers, receiver } = await givenChannel('slack_app')
    const monitor = await fail('shop.example.com')
    seen()
    const refuses = (error: string) => ({ status: 200, body: JSON.stringify({ ok: false, error }) })
    answers((path) => {
      if (path.endsWith('chat.update')) return refuses('message_not_found')
      const isReply = String(receiver.received.at(-1)!.body).includes('thread_ts')
      return isReply ? refuses('cannot_reply_to_message') : CONTRACTS.slack_app.accepts
    })
    await recover(monitor)
    await passing(0)
    expect(seen()).toEqual([
      'POST chat.update of the first',
      'POST chat.postMessage of the first',
      'POST chat.postMessage',
    ])
  })

  test('a recovery is sent even if the provider fails to edit the first message', async () => {
    const { fail, passing, seen, recover, answers } = await givenChannel('slack_app')
    const monitor = await fail('shop.example.com')
    seen()
    const { accepts } = CONTRACTS.slack_app
    answers((path) => (path.endsWith('chat.update') ? { status: 500, body: 'broken' } : accepts))
    await recover(monitor)
    await passing(0)
    expect(seen()).toEqual(['POST chat.update of the first', 'POST chat.postMessage of the first'])
  })

  test.each([
    ['matrix', { event_id: '$\0' }],
    ['matrix', { event_id: '$'.repeat(300) }],
    ['matrix', { event_id: '$\ud800' }],
    ['telegram', { ok: true, result: { message_id: 1e20 } }],
    ['slack_app', { ok: true, ts: '1'.repeat(300) }],
    ['discord', { id: '../../1127' }],
  ] as const)('an invalid message id is not stored: %s %j', async (type, body) => {
    const { fail, passing, seen, recover, answers, world } = await givenChannel(type)
    answers(() => ({ status: 200, body: JSON.stringify(body) }))
    const monitor = await fail('shop.example.com')
    expect(seen()).toHaveLength(1)
    const { data } = (await world.call('/alerts')).body
    expect(data).toContainEqual(expect.objectContaining({ status: 'SENT', retries: 0 }))
    await recover(monitor)
    await passing(0)
    expect(seen()).toHaveLength(1)
  })

  test('a recovery is retried as a whole if a rate limit prevents the edit of the first message', async () => {
    const { fail, passing, seen, recover, answers } = await givenChannel('telegram')
    const monitor = await fail('shop.example.com')
    seen()
    const { accepts, limited } = CONTRACTS.telegram
    answers((path) => (path.endsWith('editMessageText') ? limited : accepts))
    await recover(monitor)
    await passing(0)
    expect(seen()).toEqual(['POST editMessageText of the first'])
    answers(() => accepts)
    await passing(6 * MINUTE_MS)
    expect(seen()).toEqual(['POST editMessageText of the first', 'POST sendMessage of the first'])
  })
})
