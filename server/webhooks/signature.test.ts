import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { newWebhookSecret, signatureHeaders } from './signature.ts'

const body = Buffer.from('{"id":"req_1","text":"ünïcode"}')
const sentAt = Date.now() // the published verifier reads the machine's clock

describe('X-Service-Signature', () => {
  test('is the hex HMAC-SHA256 of the body, keyed with the text of the secret', () => {
    const headers = signatureHeaders({
      requestId: 'req_1',
      body: Buffer.from('Hello'),
      secret: 'sixteen letters!',
      sentAt: 0,
    })

    expect(headers['X-Service-Signature']).toBe(
      // printf Hello | openssl dgst -sha256 -hmac 'sixteen letters!'
      'b95150ebf9455ae2dc4f94011d3fc9f1c4e1d7ab5b127812c14c5e500931357a',
    )
  })

  test('uses a whsec_ secret as plain text', () => {
    const secret = newWebhookSecret()

    expect(signatureHeaders({ requestId: 'req_1', body, secret, sentAt })['X-Service-Signature']).toBe(
      createHmac('sha256', Buffer.from(secret, 'utf8')).update(body).digest('hex'),
    )
  })

  test('uses the new secret during a rotation', () => {
    const rotated = signatureHeaders({ requestId: 'req_1', body, secret: 'new', previousSecret: 'old', sentAt })

    expect(rotated['X-Service-Signature']).toBe(createHmac('sha256', 'new').update(body).digest('hex'))
  })

  test('depends only on the body, so it is the same for every attempt', () => {
    const at = (instant: number) => signatureHeaders({ requestId: 'req_1', body, secret: 's', sentAt: instant })

    expect(at(0)['X-Service-Signature']).toBe(at(86_400_000)['X-Service-Signature'])
  })
})

test('timestamps are whole seconds, rounded down', () => {
  const headers = signatureHeaders({ requestId: 'req_1', body, secret: 's', sentAt: 1_700_000_000_999 })

  expect(headers['X-Webhook-Timestamp']).toBe('1700000000')
  expect(headers['webhook-timestamp']).toBe('1700000000')
  expect(headers['webhook-id']).toBe('req_1')
})

describe('the published Standard Webhooks verifier', () => {
  test('accepts a generated secret', () => {
    const secret = newWebhookSecret()

    expect(new Webhook(secret).verify(body, signatureHeaders({ requestId: 'req_1', body, secret, sentAt }))).toEqual(
      JSON.parse(body.toString()),
    )
  })

  test('accepts any secret and any body', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 16, maxLength: 256, unit: 'grapheme' }), fc.json(), (secret, json) => {
        fc.pre(!secret.startsWith('whsec_'))
        const body = Buffer.from(json)
        const headers = signatureHeaders({ requestId: 'req_1', body, secret, sentAt })
        new Webhook(Buffer.from(secret), { format: 'raw' }).verify(body, headers)
      }),
      { numRuns: 50 },
    )
  })

  test('accepts both secrets during a rotation', () => {
    const [secret, previousSecret] = [newWebhookSecret(), newWebhookSecret()]
    const headers = signatureHeaders({ requestId: 'req_1', body, secret, previousSecret, sentAt })

    new Webhook(secret).verify(body, headers)
    new Webhook(previousSecret).verify(body, headers)
  })

  test.each([
    ['another id', { 'webhook-id': 'req_2' }],
    ['another time', { 'webhook-timestamp': String(Math.floor(sentAt / 1000) - 1) }],
  ])('refuses %s with the same signature', (_what, forged) => {
    const secret = newWebhookSecret()
    const headers = signatureHeaders({ requestId: 'req_1', body, secret, sentAt })

    expect(() => new Webhook(secret).verify(body, { ...headers, ...forged })).toThrow('No matching signature')
  })

  test('refuses a changed body and another secret', () => {
    const secret = newWebhookSecret()
    const headers = signatureHeaders({ requestId: 'req_1', body, secret, sentAt })

    expect(() => new Webhook(secret).verify(Buffer.concat([body, Buffer.from(' ')]), headers)).toThrow()
    expect(() => new Webhook(newWebhookSecret()).verify(body, headers)).toThrow()
  })
})

test('a new secret is whsec_ and the base64 of 32 random bytes', () => {
  const secret = newWebhookSecret()

  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(newWebhookSecret()).not.toBe(secret)
})
