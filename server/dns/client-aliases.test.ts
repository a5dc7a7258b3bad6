import { describe, expect, test } from 'vitest'
import { givenDnsClient, givenDnsServer } from '../testing/dns.ts'

const www = { name: 'www.example.com', type: 'A' } as const

describe('an alias chain over several answers', () => {
  test('is put singleFlight', async () => {
    const dns = await givenDnsServer()
    dns.set('www.example.com', 'CNAME', ['a.example.net'], { ttl: 10 })
    dns.set('a.example.net', 'CNAME', ['b.example.org'], { ttl: 20 })
    dns.set('b.example.org', 'A', ['192.0.2.1'], { ttl: 30 })
    dns.stopFollowingCnames()
    const { outcome, evidence } = await givenDnsClient([dns]).query(www)
    expect(outcome).toEqual({
      kind: 'answer',
      rrset: { name: 'b.example.org', type: 'A', ttl: 30, values: ['192.0.2.1'] },
      chain: [
        { name: 'www.example.com', target: 'a.example.net', ttl: 10 },
        { name: 'a.example.net', target: 'b.example.org', ttl: 20 },
      ],
    })
    expect(evidence).toHaveLength(3)
  })

  test('ends when it comes back to itself', async () => {
    const dns = await givenDnsServer()
    dns.set('www.example.com', 'CNAME', ['a.example.net'])
    dns.set('a.example.net', 'CNAME', ['www.example.com'])
    dns.stopFollowingCnames()
    const { outcome } = await givenDnsClient([dns]).query(www)
    expect(outcome).toMatchObject({ kind: 'cname_loop', chain: { length: 2 } })
  })

  test('ends where a server only refers to others', async () => {
    const dns = await givenDnsServer()
    dns.set('www.example.com', 'CNAME', ['a.example.net'])
    dns.stopFollowingCnames()
    dns.respond('a.example.net', (query) => {
      // In place of the OPT record, in the authority section: NS ns.<zone> for the zone that the pointer leads to.
      const reply = Buffer.concat([query.subarray(0, -11), Buffer.from('c01600020001000000090005026e73c016', 'hex')])
      reply.writeUInt16BE(0x8000, 2)
      reply.writeUInt16BE(1, 8)
      reply.writeUInt16BE(0, 10)
      return reply
    })
    const { outcome, evidence } = await givenDnsClient([dns]).query(www)
    expect(outcome).toMatchObject({ kind: 'referral', chain: [{ target: 'a.example.net' }] })
    expect(evidence.map((one) => one.outcome?.kind)).toEqual(['referral', 'referral'])
  })

  test('ends after 16 aliases', async () => {
    const dns = await givenDnsServer()
    for (let at = 0; at < 40; at++) dns.set(`n${at}.example.com`, 'CNAME', [`n${at + 1}.example.com`])
    dns.stopFollowingCnames()
    const { outcome, evidence } = await givenDnsClient([dns]).query({ name: 'n0.example.com', type: 'A' })
    expect(outcome).toMatchObject({ kind: 'cname_loop', chain: { length: 17 } })
    expect(evidence).toHaveLength(17)
  })

  test('is left to the asker who wants no recursion', async () => {
    const dns = await givenDnsServer({ authoritative: true })
    dns.set('www.example.com', 'CNAME', ['a.example.net'])
    const { outcome, evidence } = await givenDnsClient([dns]).query(www, { recursionDesired: false })
    expect(outcome).toMatchObject({ kind: 'referral', chain: [{ target: 'a.example.net' }] })
    expect(evidence).toMatchObject([{ flags: ['aa'] }])
  })
})
