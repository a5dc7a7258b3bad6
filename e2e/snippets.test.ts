import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { signatureHeaders } from '#server/webhooks/signature.ts'

/** The code in the documents that verifies or parses requests runs here. `receivers.test.ts` does the same with `examples/`. */

const GUIDE = 'docs/guides/receive-webhooks.md'
const SECRET = 'whsec_YW4gZXhhbXBsZSBvZiAzMiBvY3RldHMgaW4gYWxsISE='
const body = Buffer.from('{"id":"req_test_1","event":{"event":{"id":"evt_1"}}}')

/** Documents with code in a language of programs, and how many blocks. Those that verify or parse requests are tested here. */
const BLOCKS: Record<string, number> = {
  [GUIDE]: 2,
  // reconcile.mjs, which reads events from the server and verifies nothing
  'docs/reference/api.md': 1,
}

test('every document with code is known, so that its code is tested', () => {
  const documents = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'))
  const counts = documents.flatMap((path) => {
    const text = readFileSync(`docs/${path}`, 'utf8')
    const count = text.match(/^```(?:ts|js|tsx|py|python|go|php|rb|ruby|java|cs)$/gm)?.length ?? 0
    return count === 0 ? [] : [[`docs/${path}`, count] as const]
  })
  expect(Object.fromEntries(counts)).toEqual(BLOCKS)
})

describe('the signature check of the guide', () => {
  const signed = (changed: { secret?: string; sentAt?: number } = {}): Record<string, string> => {
    const headers = signatureHeaders({ requestId: 'req_test_1', body, secret: SECRET, sentAt: Date.now(), ...changed })
    return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  }

  test('accepts a request of Zonewatch', async () => {
    const { isGenuine } = await importBlock(GUIDE, 'isGenuine')
    expect(isGenuine(signed(), body, SECRET)).toBe(true)
  })

  test.each([
    ['no headers', {}],
    ['no timestamp', { ...signed(), 'x-webhook-timestamp': undefined }],
    ['an empty timestamp', { ...signed(), 'x-webhook-timestamp': '' }],
    ['a timestamp in words', { ...signed(), 'x-webhook-timestamp': 'now' }],
    ['a timestamp that computes', { ...signed(), 'x-webhook-timestamp': '1e10' }],
    ['an old timestamp', signed({ sentAt: Date.now() - 310_000 })],
    ['a timestamp of the future', signed({ sentAt: Date.now() + 310_000 })],
    ['no signature', { ...signed(), 'x-service-signature': undefined }],
    ['a short signature', { ...signed(), 'x-service-signature': 'ab' }],
    ['one octet that is not ASCII', { ...signed(), 'x-service-signature': `é${'a'.repeat(63)}` }],
    ['a signature that is not ASCII', { ...signed(), 'x-service-signature': 'ÿ'.repeat(64) }],
    ['several signatures', { ...signed(), 'x-service-signature': ['a'.repeat(64), 'b'.repeat(64)] }],
    ['another secret', signed({ secret: 'another secret of the test' })],
  ])('refuses %s', async (_what, headers) => {
    const { isGenuine } = await importBlock(GUIDE, 'isGenuine')
    expect(isGenuine(headers, body, SECRET)).toBe(false)
  })

  test('refuses a changed body', async () => {
    const { isGenuine } = await importBlock(GUIDE, 'isGenuine')
    expect(isGenuine(signed(), Buffer.concat([body, Buffer.from(' ')]), SECRET)).toBe(false)
    expect(isGenuine(signed(), Buffer.alloc(0), SECRET)).toBe(false)
  })
})

test.each([
  ['one event', '{"id":"req_1","event":{"id":"evt_1"}}', ['evt_1']],
  ['a batch', '{"id":"req_1","events":[{"event":{"id":"evt_1"}},{"event":{"id":"evt_2"}}]}', ['evt_1', 'evt_2']],
])('the code of the guide for batches handles %s', (_what, text, ids) => {
  const code = blockOf(GUIDE, 'body.events')
  const handled: string[] = []
  const run = new Function('rawBody', 'handle', code)
  run(Buffer.from(text), ({ id }: { id: string }) => handled.push(id))
  expect(handled).toEqual(ids)
})

test.each(['docs/tutorials/first-monitor.md', 'docs/tutorials/customer-domains.md'])(
  'the secret of %s works with the library of Standard Webhooks',
  (document) => {
    const secrets = readFileSync(document, 'utf8').match(/(?<=WEBHOOK_SECRET=|"secret": ")[^\s"]+/g)!
    expect(new Set(secrets).size).toBe(1)
    const headers = signatureHeaders({ requestId: 'req_1', body, secret: secrets[0]!, sentAt: Date.now() })
    expect(new Webhook(secrets[0]!).verify(body.toString(), { ...headers })).toBeTruthy()
  },
)

function blockOf(document: string, text: string): string {
  const blocks = [...readFileSync(document, 'utf8').matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block!)
  return blocks.find((block) => block.includes(text))!
}

async function importBlock(document: string, text: string) {
  const code = stripTypeScriptTypes(blockOf(document, text))
  return await import(`data:text/javascript,${encodeURIComponent(code)}`)
}
