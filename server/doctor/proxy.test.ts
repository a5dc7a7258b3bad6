import { expect, test } from 'vitest'
import { proxyFindings } from './proxy.ts'

const seen = {
  peer: '10.0.0.1',
  isPeerTrusted: true,
  address: '198.51.100.7',
  host: 'dns.example.com',
  forwardedFor: '198.51.100.7',
}
const behind = { baseUrl: 'https://dns.example.com', trustedProxies: ['10.0.0.1'] }

test.each<[RegExp, Partial<typeof seen> | { forwardedFor: null }, Partial<typeof seen> | undefined, object]>([
  [/^ok: X-Forwarded-For from 10\.0\.0\.1 is trusted/, {}, {}, {}],
  [/^ok: none/, { forwardedFor: null }, {}, { baseUrl: 'http://localhost:8080', trustedProxies: [] }],
  [/^failure: X-Forwarded-For does not arrive\. Configure the proxy to set/, { forwardedFor: null }, {}, {}],
  [
    /^failure: X-Forwarded-For from 10\.0\.0\.1 is not trusted\. Add 10\.0\.0\.1 to TRUSTED_PROXIES/,
    { isPeerTrusted: false, address: '10.0.0.1' },
    {},
    {},
  ],
  // This machine is a client of the proxy on the same machine.
  [
    /^ok: X-Forwarded-For from 127\.0\.0\.1 is trusted/,
    { peer: '127.0.0.1', address: '127.0.0.1', forwardedFor: '127.0.0.1' },
    { peer: '127.0.0.1', address: '127.0.0.1', forwardedFor: '127.0.0.1' },
    { trustedProxies: ['127.0.0.1'] },
  ],
  [/^failure: clients can choose their address with X-Forwarded-For/, {}, { address: '192.0.2.123' }, {}],
  [
    /^warning: the server sees the host 10\.0\.0\.2:8080, but BASE_URL has dns\.example\.com/,
    { host: '10.0.0.2:8080' },
    {},
    {},
  ],
])('a proxy is judged: %s', (expected, change, forged, more) => {
  const found = proxyFindings({ ...seen, ...change }, forged && { ...seen, ...forged }, { ...behind, ...more })
  expect(found).toHaveLength(1)
  const { status, detail, remedy } = found[0]!
  expect(`${status}: ${detail}. ${remedy ?? ''}`).toMatch(expected)
})
