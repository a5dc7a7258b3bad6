import { describe, expect, test } from 'vitest'
import { SPECIAL_ADDRESSES } from '../testing/fixtures/special-addresses.ts'
import { addressError, type Networks, parseNetworks, urlError } from './address-policy.ts'

function networks(text: string): Networks {
  const parsed = parseNetworks(text)
  if (!parsed.ok) throw new Error(parsed.reason)
  return parsed.networks
}

const PUBLIC = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2000::1',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2001:db7::1',
  '2606:4700::1111',
  '3ffe:ffff::1',
  '3fff:1000::1',
  '::ffff:8.8.8.8',
  '64:ff9b::8.8.8.8',
  '2002:808:808::1',
]

describe('addresses', () => {
  test.each(SPECIAL_ADDRESSES)('%s is refused as %s', (ip, word) => {
    expect(addressError(ip, [])?.text).toContain(word)
    expect(addressError(ip, [])?.text).toContain('ask the operator to allow its network')
  })

  test.each(PUBLIC)('%s may be connected to', (ip) => {
    expect(addressError(ip, [])).toBeNull()
  })

  test.each(['', 'example.com', '127.1', '0x7f000001', '0177.0.0.1', '1.2.3', '1.2.3.4.5', ':::', '[::1]'])(
    '%j is not taken for an address',
    (text) => {
      expect(addressError(text, networks('0.0.0.0/0 ::/0'))?.text).toBe(`${text} is not an IP address.`)
    },
  )
})

describe('allowed networks', () => {
  test('lift the refusal of their own addresses only', () => {
    const allowed = networks('10.1.0.0/16, fd00::/8 127.0.0.1')

    expect(addressError('10.1.255.255', allowed)).toBeNull()
    expect(addressError('fd12::1', allowed)).toBeNull()
    expect(addressError('127.0.0.1', allowed)).toBeNull()
    expect(addressError('10.2.0.0', allowed)).not.toBeNull()
    expect(addressError('127.0.0.2', allowed)).not.toBeNull()
    expect(addressError('fc00::1', allowed)).not.toBeNull()
  })

  test('hold for IPv4-mapped addresses, which the kernel takes for the IPv4 address', () => {
    expect(addressError('::ffff:10.0.0.1', networks('10.0.0.0/8'))).toBeNull()
    expect(addressError('10.0.0.1', networks('::ffff:10.0.0.0/104'))).toBeNull()
    expect(addressError('::ffff:10.0.0.1', networks('::/0'))).not.toBeNull()
  })

  test.each(['64:ff9b::127.0.0.1', '2002:7f00:1::', '::127.0.0.1'])(
    'of IPv4 do not hold for %s, which a gateway elsewhere would unwrap',
    (ip) => {
      expect(addressError(ip, networks('127.0.0.0/8'))).not.toBeNull()
      expect(addressError(ip, networks('::/0'))).toBeNull()
    },
  )

  test.each([
    ['10.0.0.0/33', 'prefix length of 0 to 32'],
    ['fd00::/129', 'prefix length of 0 to 128'],
    ['10.0.0.0/', 'prefix length'],
    ['10.0.0.0/-1', 'prefix length'],
    ['10.0.0.0/8/8', 'is not a network'],
    ['10.0.0.0/255.0.0.0', 'prefix length of 0 to 32'],
    ['::ffff:0.0.0.0/95', 'prefix length of 96 to 128'],
    ['10/8', 'is not a network'],
    ['example.com', 'is not a network'],
    ['fe80::%eth0/64', 'is not a network'],
    ['10.1.2.3/8', 'Use 10.0.0.0/8'],
    ['fd00::1/8', 'Use fd00::/8'],
  ])('refuse %s and say what is wrong', (text, words) => {
    expect(parseNetworks(`127.0.0.0/8, ${text}`)).toEqual({
      ok: false,
      reason: expect.stringContaining(words),
    })
  })

  test('may be none', () => {
    expect(parseNetworks('  ')).toEqual({ ok: true, networks: [] })
  })
})

describe('URLs', () => {
  test.each([
    'https://receiver.example/hook?x=1',
    'http://receiver.example:8080/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://receiver.example./',
    'https://bücher.example/',
    'https://localhost.example/',
    `https://${'a'.repeat(63)}.example/`,
    `https://${'a.'.repeat(123)}example/`,
    `https://receiver.example/${'a'.repeat(1975)}`,
  ])('%s may be called', (url) => {
    expect(urlError(url, [])).toBeNull()
  })

  test.each([
    ['http://127.0.0.1/', 'loopback'],
    ['http://127.1/', 'loopback'],
    ['http://127.0.0.1./', 'loopback'],
    ['http://2130706433/', 'loopback'],
    ['http://0x7f000001/', 'loopback'],
    ['http://0x7f.0.0.1/', 'loopback'],
    ['http://0177.0.0.1/', 'loopback'],
    ['http://017700000001/', 'loopback'],
    ['http://%31%32%37.0.0.1/', 'loopback'],
    ['http://127。0。0。1/', 'loopback'],
    ['http://①②⑦.0.0.1/', 'loopback'],
    ['http://１２７.0.0.1/', 'loopback'],
    ['http://127.0.0.1#@receiver.example/', 'loopback'],
    ['http://127.0.0.1?@receiver.example/', 'loopback'],
    ['http://@127.0.0.1/', 'loopback'],
    ['http://127.0.0.1:80@127.0.0.1/', 'credentials'],
    ['http:127.0.0.1/', 'loopback'],
    ['http:////127.0.0.1/', 'loopback'],
    ['HTTP://127.0.0.1/', 'loopback'],
    ['http://0/', 'this network'],
    ['http://[::1]/', 'loopback'],
    ['http://[0:0:0:0:0:0:0:1]/', 'loopback'],
    ['http://[::ffff:127.0.0.1]/', 'loopback'],
    ['http://[::ffff:7f00:1]/', 'loopback'],
    ['http://[::]/', 'this network'],
    ['http://[fe80::1]/', 'link-local'],
    ['http://[fe80::1%25eth0]/', 'malformed'],
    ['http://169.254.169.254/latest/meta-data/', 'link-local'],
    ['http://192.168.1.1/', 'private'],
    ['http://localhost/', 'localhost is not allowed'],
    ['http://LOCALHOST:8080/', 'localhost is not allowed'],
    ['http://localhost./', 'localhost is not allowed'],
    ['http://ⓛocalhost/', 'localhost is not allowed'],
    ['http://local\u00adhost/', 'localhost is not allowed'],
    ['http://localhost%2e/', 'localhost is not allowed'],
    ['http://a.localhost/', 'localhost is not allowed'],
    ['http://user@receiver.example/', 'credentials'],
    ['http://:secret@receiver.example/', 'credentials'],
    ['http://receiver.example@127.0.0.1/', 'credentials'],
    ['ftp://receiver.example/', 'begin with https'],
    ['file:///etc/passwd', 'begin with https'],
    ['gopher://127.0.0.1:25/_', 'begin with https'],
    ['javascript:alert(1)', 'begin with https'],
    ['data:text/plain,x', 'begin with https'],
    ['receiver.example', 'malformed'],
    ['https://', 'malformed'],
    ['https://a b/', 'spaces'],
    ['https://receiver.example/\r\nX: 1', 'spaces'],
    ['ht\ntps://receiver.example/', 'spaces'],
    ['https://receiver.example\\@127.0.0.1/', 'backslashes'],
    ['http://receiver.example:25/', 'Port 25'],
    ['http://receiver.example:6667/', 'Port 6667'],
    ['http://receiver.example:6660/', 'Port 6660'],
    ['http://receiver.example:10080/', 'Port 10080'],
    ['http://receiver.example:0/', 'Port 0'],
    ['http://receiver.example:000025/', 'Port 25'],
    ['http://receiver.example:65536/', 'malformed'],
    ['http://receiver..example/', 'The host name is invalid'],
    ['http://.receiver.example/', 'The host name is invalid'],
    ['http://receiver.example../', 'The host name is invalid'],
    ['http://127.0.0.1../', 'The host name is invalid'],
    ['http://localhost../', 'The host name is invalid'],
    [`http://${'a'.repeat(64)}.example/`, 'The host name is invalid'],
    [`http://${'a.'.repeat(124)}example/`, 'The host name is invalid'],
    ['', '1 to 2000 characters'],
    [`https://receiver.example/${'a'.repeat(1976)}`, '1 to 2000 characters'],
  ])('%s is refused', (url, words) => {
    expect(urlError(url, [])?.text).toContain(words)
  })

  test('localhost stays refused where its address is allowed', () => {
    const allowed = networks('127.0.0.0/8')

    expect(urlError('http://127.0.0.1:8080/', allowed)).toBeNull()
    expect(urlError('http://localhost:8080/', allowed)?.text).toContain('127.0.0.1')
  })

  test('the ports to refuse can be chosen', () => {
    expect(urlError('http://receiver.example:25/', [], [])).toBeNull()
    expect(urlError('https://receiver.example/', [], [443])?.text).toContain('Port 443')
  })
})
