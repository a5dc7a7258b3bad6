import { expect, test } from 'vitest'
import { formatServer, parseServerAddress, systemServers } from './server-address.ts'

test.each([
  ['127.0.0.1:5353', '127.0.0.1', 5353, '127.0.0.1:5353'],
  ['9.9.9.9', '9.9.9.9', 53, '9.9.9.9:53'],
  ['[::1]:5300', '::1', 5300, '[::1]:5300'],
  ['[2001:DB8:0::1]', '2001:db8::1', 53, '[2001:db8::1]:53'],
  ['2001:db8::1', '2001:db8::1', 53, '[2001:db8::1]:53'],
  ['fe80::1%eth0', 'fe80::1%eth0', 53, '[fe80::1%eth0]:53'],
])('%s is a server', (text, ip, port, formatted) => {
  expect(parseServerAddress(text)).toEqual({ ok: true, server: { ip, port } })
  expect(formatServer({ ip, port })).toBe(formatted)
})

test.each([
  '',
  'dns.example',
  '127.0.0.1:',
  '127.0.0.1:0',
  '127.0.0.1:65536',
  '127.0.0:53',
  '[127.0.0.1]:53',
  '[::1',
  '[::1]x',
  ' ::1',
])('"%s" is no server', (text) => {
  expect(parseServerAddress(text)).toEqual({ ok: false, reason: expect.stringContaining(`"${text}"`) })
})

test('the servers of the system are addresses', () => {
  for (const server of systemServers()) expect(parseServerAddress(formatServer(server))).toEqual({ ok: true, server })
})
