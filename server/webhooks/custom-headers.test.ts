import { expect, test } from 'vitest'
import { headerError } from './custom-headers.ts'

test.each([
  ['Authorization', 'Bearer abc'],
  ['X-Team', 'dns'],
  ['x_odd.name', ''],
  ['Cookie', 'a=b\tc'],
])('the header %s is allowed', (name, value) => {
  expect(headerError(name, value)).toBeNull()
})

test.each([
  'Content-Type',
  'content-length',
  'HOST',
  'User-Agent',
  'Connection',
  'Transfer-Encoding',
  'TE',
  'Upgrade',
  'Keep-Alive',
  'Expect',
  'Proxy-Authorization',
  'X-Service-Signature',
  'x-webhook-timestamp',
  'Webhook-Id',
  'webhook-timestamp',
  'webhook-signature',
])('the header %s is refused, because Zonewatch sets it', (name) => {
  expect(headerError(name, 'x')).toMatchObject({ text: `Zonewatch sets ${name} itself. Use another name.` })
})

test.each(['', 'a b', 'a:b', 'a\r\nb', 'ä', 'a'.repeat(101), '(x)'])(
  '%j is refused as the name of a header',
  (name) => {
    expect(headerError(name, 'x')).toMatchObject({ code: 'invalid_header_name' })
  },
)

test.each(['a\r\nX-Injected: 1', 'a\nb', 'a\rb', 'a\0b', 'ü', '\x7f', 'a'.repeat(4001)])(
  '%j is refused as the value of a header',
  (value) => {
    expect(headerError('X-Team', value)).toMatchObject({ code: 'invalid_header_value', params: { header: 'X-Team' } })
  },
)
