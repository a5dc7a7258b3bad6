import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { NOTIFY } from '#contract/monitors.ts'
import { systemClock } from '../clock.ts'
import { RETRY_DELAYS_MS } from '../retry-schedule.ts'
import { DENIED_PORTS } from '../safe-http/address-policy.ts'
import { reasonOf } from '../safe-http/exchange.ts'
import { attempt } from './attempt.ts'
import { headerError } from './custom-headers.ts'
import { newPayload } from './payload.ts'
import { MAX_REPLAYED } from './replay.ts'
import { DEFAULT_RETENTION_DAYS } from './retention.ts'
import { signatureHeaders } from './signature.ts'
import { type AttemptedRequest, type AttemptTrigger, afterAttempt } from './transition.ts'

// What docs/reference/webhooks.md shows and lists, as the code has it. What it says in sentences is held by the tests beside the code.

const document = readFileSync('docs/reference/webhooks.md', 'utf8')
const fenced = (language: string) =>
  [...document.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text]) => text!)
/** The cells of the table that has this word in its head, row by row. */
function rowsBelow(head: string): string[][] {
  const [, table] = new RegExp(`\\n\\| ${head} +\\|[^\\n]*\\n\\|[- |]+\\n((?:\\|.*\\n)+)`).exec(document)!
  return table!
    .trim()
    .split('\n')
    .map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}
const codes = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)

test('the documented payload is the one that is sent', () => {
  const shown = JSON.parse(fenced('json')[0]!)
  const { id: requestId, webhook_id: webhookId, event, created } = shown

  const sent = newPayload({ requestId, webhookId, event, createdAt: Date.parse(created) })
  expect(JSON.stringify(shown)).toBe(sent.toString())
})

test('every field of the payload is documented, and no other', () => {
  const paths = (value: object, prefix = ''): string[] =>
    Object.entries(value).flatMap(([name, inner]) =>
      inner !== null && typeof inner === 'object' && !Array.isArray(inner)
        ? [prefix + name, ...paths(inner, `${prefix}${name}.`)]
        : [prefix + name],
    )

  const shown = paths(JSON.parse(fenced('json')[0]!)).filter((path) => path !== 'event')
  expect(rowsBelow('Field').flatMap(([field]) => codes(field!))).toEqual(shown)
  expect(rowsBelow('`notify`').flatMap(([name]) => codes(name!))).toEqual(NOTIFY)
})

test('every header that is sent is documented, and users can set none of them', async () => {
  let sent: string[] = []
  const safeFetch = {
    post: async (_url: string, headers: Record<string, string>) => {
      sent = Object.keys(headers).map((name) => name.toLowerCase())
      return { kind: 'failed', reason: '', timings: { totalMs: 0 } } as const
    },
    get: () => Promise.reject(new Error('unexpected')),
    put: () => Promise.reject(new Error('webhooks are sent with POST')),
    patch: () => Promise.reject(new Error('webhooks are sent with POST')),
    refusalOf: async () => null,
    close: async () => {},
  }
  const request = { id: 'req_1', url: '', headers: {}, body: Buffer.from(''), secret: 's' }
  await attempt(request, { safeFetch, clock: systemClock })

  const described = rowsBelow('Header').flatMap(([names]) => codes(names!))
  expect(described.map((name) => name.toLowerCase()).sort()).toEqual(sent.sort())
  const [, connection] = /belong to the connection:(.*?)\./s.exec(document)!
  const refused = [...described, ...codes(connection!).map((name) => name.replace('…', 'Anything'))]
  expect(refused.filter((name) => headerError(name, 'x') === null)).toEqual([])
})

test('the documented signatures are those of the documented body', () => {
  const [, body, seconds, requestId, secret] =
    /the body `([^`]+)`.*?in the second (\d+)\D.*?`webhook-id` (\S+), by the secret `([^`]+)`/s.exec(document)!

  const signed = { requestId: requestId!, body: Buffer.from(body!), secret: secret!, sentAt: Number(seconds) * 1_000 }
  const headers = signatureHeaders(signed)
  for (const name of ['X-Service-Signature', 'webhook-signature'])
    expect(document).toContain(`\n${name}: ${headers[name]}\n`)
})

test('the documented retries are those of the schedule', () => {
  const { min, h } = { min: 60_000, h: 3_600_000 }
  const [delays] = rowsBelow('Retry')
  const shown = delays!.slice(1).map((cell) => {
    const [count, unit] = cell.split(' ')
    return Number(count) * (unit === 'h' ? h : min)
  })

  expect(shown).toEqual(RETRY_DELAYS_MS)
  const days = RETRY_DELAYS_MS.reduce((sum, delay) => sum + delay + 10_000, 0) / (24 * h)
  expect(days).toBeGreaterThan(1.5)
  expect(days).toBeLessThan(2)
})

test('the table has every transition of a request from one status to another', () => {
  const ways = rowsBelow('A request that is').filter(([, , when]) => when !== 'it is replayed')
  const documented = ways.map(([from, to]) => `${from} ${to}`)

  const found = new Set<string>()
  for (const { status, retries, isTest } of requestStates()) {
    const triggers: AttemptTrigger[] = isTest || isDone(status) ? ['manual'] : ['schedule', 'probe', 'manual']
    for (const trigger of triggers) {
      for (const result of [
        { delivered: true, gone: false },
        { delivered: false, gone: false },
        { delivered: false, gone: true },
      ]) {
        const after = afterAttempt(
          { requestId: 'req_1', status, retries, isTest, nextAttemptAt: 0 },
          trigger,
          result,
          1,
        )
        if (after.status !== status || status === 'RETRYING') found.add(`${status} ${after.status}`)
      }
    }
  }
  expect(documented.sort()).toEqual([...found].sort())
})

test('the diagram has the transitions of the tables, and no other', () => {
  const documented = [...rowsBelow('A webhook that is'), ...rowsBelow('A request that is')].map((row) => row.join(' '))

  const arrows = [...fenced('mermaid')[0]!.matchAll(/(\w+) --> (\w+): (.*)/g)]
  expect(arrows.map(([, from, to, when]) => `${from} ${to} ${when}`)).toEqual(documented)
})

test('the documented limits and ports are those of the code', () => {
  const [, ports] = /\n- the ports (.*?);/s.exec(document)!

  expect([...ports!.matchAll(/\d+/g)].map(([port]) => Number(port))).toEqual(DENIED_PORTS)
  const sentences = document.replaceAll(/\s+/g, ' ')
  expect(sentences).toContain(`at most ${MAX_REPLAYED.toLocaleString('en')} requests`)
  expect(sentences).toContain(`kept for ${DEFAULT_RETENTION_DAYS} days`)
})

test.each([
  'ECONNREFUSED',
  'UND_ERR_SOCKET',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'HPE_INVALID_CONSTANT',
])('the text of the error %s is documented', (code) => {
  expect(rowsBelow('`error` of a request or attempt').map(([error]) => error)).toContain(
    reasonOf(Object.assign(new Error('x'), { code })),
  )
})

const isDone = (status: AttemptedRequest['status']) => status === 'DELIVERED' || status === 'FAILED'

/** Tests are attempted once, whatever comes of it. */
function requestStates(): Pick<AttemptedRequest, 'status' | 'retries' | 'isTest'>[] {
  const statuses = ['PENDING', 'RETRYING', 'DELIVERED', 'FAILED'] as const
  return [
    ...statuses.flatMap((status) =>
      [0, 8].map((retries) => ({ status, retries: status === 'PENDING' ? 0 : retries, isTest: false })),
    ),
    { status: 'PENDING', retries: 0, isTest: true },
  ]
}
