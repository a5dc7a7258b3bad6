import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { renderMail } from '../mail/mail-templates.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { runDispatcher } from './dispatcher.ts'

onBothEngines('the secrets of a webhook', (_fresh, engine) => {
  test('a whsec_ secret that is not base64 is refused when it is given and when it is rotated', async () => {
    const world = await givenApp(engine)
    const send = (path: string, body: object) => world.call(path, { method: 'POST', body })
    const sentence =
      'begins with whsec_, but the rest is not padded Base64. Use whsec_ with Base64, a secret without whsec_, or leave it out to generate one.'
    const { id } = (await send('/webhooks', { url: 'http://127.0.0.1:2/hook' })).body
    for (const secret of [
      'whsec_this is not base64',
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS',
      'whsec_aGVsbG8-d29ybGQ_',
    ]) {
      for (const [path, body] of [
        ['/webhooks', { url: 'http://127.0.0.1:2/hook', secret }],
        [`/webhooks/${id}/rotate-secret`, { secret }],
      ] as const) {
        const answer = await send(path, body)
        expect([answer.status, answer.body.errors]).toEqual([400, { secret: sentence }])
      }
    }
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    expect((await send(`/webhooks/${id}/rotate-secret`, { secret })).body.secret).toBe(secret)
  })

  test('are in no log, error or mail, whatever the receiver does', async () => {
    const world = await givenApp(engine)
    const { db, keyring } = world.deps
    const lines: string[] = []
    const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
    const stop = new AbortController()
    const signals = { stop: stop.signal, abandon: stop.signal }
    const loop = runDispatcher({ ...world.deps, log, process: 1 }, signals, { total: 20, perWebhook: 4 })
    const receiver = await startReceiver()
    onTestFinished(async () => {
      stop.abort()
      await loop
      await receiver.close()
    })
    const body = { secret: 'a hush of 16 letters', headers: { Authorization: 'Bearer hush' }, groups: ['default'] }
    const made = async (url: string) => (await world.call('/webhooks', { method: 'POST', body: { ...body, url } })).body
    const webhooks = [await made(`${receiver.url}/hook?token=hush`), await made('http://127.0.0.1:2/hook?token=hush')]
    receiver.answers({ status: 410, headers: { location: '/?hush' } })

    for (const { id } of webhooks) await world.call(`/webhooks/${id}/test`, { method: 'POST' })
    const requests = await eventually(
      () => db.selectFrom('webhook_requests').select(['status', 'error', 'timings']).execute(),
      (rows) => rows.length === 2 && rows.every(({ status }) => status === 'FAILED'),
    )

    expect(receiver.received[0]).toMatchObject({ path: '/hook?token=hush', headers: { authorization: 'Bearer hush' } })
    const mails = await db.selectFrom('mails').select(['about', 'content']).execute()
    const texts = mails.map(({ about, content }) => renderMail(JSON.parse(content), { baseUrl: '', keyring, about }))
    const errors = await db.selectFrom('webhooks').select('last_error').execute()
    expect([lines.length, texts.length]).toEqual([1, 1])
    expect(JSON.stringify([lines, world.logged, requests, errors, texts])).not.toContain('hush')
  })
})
