import { expect, onTestFinished, test } from 'vitest'
import { givenDnsClient } from '../../testing/dns.ts'
import type { DnsServer } from '../../testing/dns-server.ts'
import { startDnsTree } from '../../testing/dns-server-tree.ts'
import { patientClock } from '../../testing/patient-clock.ts'
import type { Response } from '../../testing/signed-zone.ts'
import { createZoneSigner, dsValue, serveSigned } from '../../testing/zone-signer.ts'
import type { ValidationCall } from '../dnssec-validator.ts'
import type { ServerAddress } from '../outcome.ts'
import type { SendOptions } from '../packet-sender.ts'
import { createAuthoritativeClient } from '../resolver/authoritative-client.ts'
import { createChainOfTrust } from './chain-of-trust.ts'
import { createServerValidator } from './server-validator.ts'
import { ValidationWork } from './validation-work.ts'

const ZONE = 'example.com'
const www = { name: 'www.example.com', type: 'A' } as const
const signer = createZoneSigner(ZONE)
const wires = (records: readonly { wire: Buffer }[]) => records.map(({ wire }) => wire)
const KEYS: Response = { question: [ZONE, 'DNSKEY'], answer: wires(signer.keys()) }
const RECORDS = signer.signRrset('www.example.com. 300 IN A 192.0.2.1')
const WWW: Response = { question: ['www.example.com', 'A'], answer: wires(RECORDS) }
const EXPIRED: Response = {
  ...WWW,
  answer: wires(
    signer.signRrset('www.example.com. 300 IN A 192.0.2.1', { from: '20200101000000', until: '20210101000000' }),
  ),
}

/** Steps of a verification, and of one that is known already, with those for the data. */
const [ED25519, ALIKE] = [35, 2]

const OTHER_DS = `1 15 2 ${'00'.repeat(32)}`

/** Two servers of `com` delegate `example.com` to two servers. */
async function givenZone(ds: readonly (readonly string[])[] = [[signer.ds], [signer.ds]]) {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const parents = await tree.zone('com', ['a.nic.com', 'b.nic.com'])
  const servers = (await tree.zone(ZONE, ['ns1.example.com', 'ns2.example.com'], parents)) as [DnsServer, DnsServer]
  for (const [index, parent] of parents.entries()) parent.set(ZONE, 'DS', ds[index]!.map(dsValue))
  for (const server of servers) serveSigned(server, [KEYS, WWW])
  const dns = givenDnsClient([])
  const authoritativeClient = createAuthoritativeClient({ dns, clock: patientClock, roots: [tree.root.address] })
  const { port } = tree.root.address
  const groups: SendOptions['group'][] = []
  const sender = {
    sendPacket: (packet: Buffer, server: ServerAddress, options: SendOptions) => {
      groups.push(options.group)
      return dns.sendPacket(packet, server, options)
    },
  }
  const validator = createServerValidator({
    sender,
    chainOfTrust: createChainOfTrust({ sender, authoritativeClient, clock: patientClock, anchors: [] }),
    clock: patientClock,
    port,
    timeoutMs: 300,
  })
  const signal = new AbortController().signal
  return {
    servers,
    groups,
    async validate(server = 0, call: Omit<ValidationCall, 'signal'> = {}) {
      const view = await authoritativeClient.zoneView(www, { fresh: true })
      return await validator.validate(www, view!, server, { signal, ...call })
    },
  }
}

test('each server is judged by its own answer', async () => {
  const { servers, validate } = await givenZone()
  serveSigned(servers[1], [KEYS, EXPIRED])
  expect(await validate(0)).toMatchObject({ kind: 'secure', ede: [] })
  expect(await validate(1)).toEqual({
    kind: 'bogus',
    cause: {
      code: 'signature_expired',
      params: { name: 'www.example.com', type: 'A', key_tag: signer.keyTag, at: '2021-01-01T00:00:00.000Z' },
    },
    ede: [{ code: 7, text: 'The signature of www.example.com A expired at 2021-01-01 00:00 UTC.' }],
  })
})

test('a truncated answer is asked again over TCP', async () => {
  const { servers, validate } = await givenZone()
  const answer = [...RECORDS, ...Array.from({ length: 60 }, () => RECORDS[0]!)].map(({ wire }) => wire)
  serveSigned(servers[0], [KEYS, { ...WWW, answer }])
  expect(await validate()).toMatchObject({ kind: 'secure' })
})

test.each([
  ['the DS records of one parent server are enough', [[OTHER_DS], [signer.ds]], { kind: 'secure' }],
  ['without DS records nothing is signed', [[], []], { kind: 'unsigned', reason: 'no_ds' }],
  ['one parent server without DS records is enough for that', [[], [OTHER_DS]], { kind: 'unsigned' }],
  [
    'with other DS records everything is bogus',
    [[OTHER_DS], [OTHER_DS.replace('1', '2')]],
    { kind: 'bogus', cause: { code: 'no_key_for_ds' } },
  ],
])('%s', async (_, ds, verdict) => {
  const { validate } = await givenZone(ds)
  expect(await validate()).toMatchObject(verdict)
})

test('a server that does not answer has no verdict', async () => {
  const { servers, validate } = await givenZone()
  servers[0].drop('*')
  expect(await validate()).toMatchObject({ kind: 'unknown', reason: 'no_answer' })
})

test('the validations of a check share its bound of work, and wait in the turn of its organization', async () => {
  const { servers, groups, validate } = await givenZone()
  const valid = RECORDS[1]!.wire
  const forged = Array.from({ length: 12 }, (_, index) => {
    const wire = Buffer.from(valid)
    wire.writeUInt16BE(index, wire.length - 2)
    return wire
  })
  for (const server of servers) serveSigned(server, [KEYS, { ...WWW, answer: [RECORDS[0]!.wire, ...forged] }])
  const work = new ValidationWork(1_000)
  const call = { work, group: 'org_a' }
  // One signature of the keys and twelve of the answer, twice with the DS records of each of two servers of the parent zone.
  expect(await validate(0, call)).toMatchObject({ kind: 'bogus', cause: { code: 'invalid_signature' } })
  expect(1_000 - work.left).toBe(13 * (ED25519 + 1) + 3 * 13 * ALIKE)
  // The other server gives the same.
  expect(await validate(1, call)).toMatchObject({ kind: 'bogus', cause: { code: 'invalid_signature' } })
  expect(1_000 - work.left).toBe(13 * (ED25519 + 1) + 7 * 13 * ALIKE)
  for (const wire of forged) wire.writeUInt16BE(wire.readUInt16BE(wire.length - 4) + 1, wire.length - 4)
  expect(await validate(0, call)).toMatchObject({ kind: 'unknown', reason: 'too_much_work' })
  expect(work.left).toBe(0)
  expect(new Set(groups)).toEqual(new Set(['org_a']))
})

test('an unsigned zone below on the same server is not bogus', async () => {
  const { servers, validate } = await givenZone()
  const unsignedAnswer = { ...WWW, answer: [RECORDS[0]!.wire] }
  serveSigned(servers[0], [KEYS, unsignedAnswer])
  expect(await validate()).toMatchObject({ kind: 'bogus', cause: { code: 'missing_signature' } })
  const [soa] = signer.signRrset('www.example.com. 300 IN SOA . . 1 2 3 4 5')
  serveSigned(servers[0], [KEYS, unsignedAnswer, { question: ['www.example.com', 'SOA'], answer: [soa!.wire] }])
  expect(await validate()).toMatchObject({ kind: 'unknown', reason: 'other_zone' })
})
