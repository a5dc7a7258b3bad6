import { expect, onTestFinished, test } from 'vitest'
import { givenDnsClient } from '../../testing/dns.ts'
import type { DnsServer } from '../../testing/dns-server.ts'
import { startDnsTree } from '../../testing/dns-server-tree.ts'
import { patientClock } from '../../testing/patient-clock.ts'
import type { Response } from '../../testing/signed-zone.ts'
import { createZoneSigner, dsValue, type SignatureTimes, serveSigned } from '../../testing/zone-signer.ts'
import { createAuthoritativeClient } from '../resolver/authoritative-client.ts'
import { createChainOfTrust } from './chain-of-trust.ts'
import { parseDsText } from './dnssec-records.ts'
import { createServerValidator, validatorForRules } from './server-validator.ts'

const ZONE = 'example.com'
const www = { name: 'www.example.com', type: 'A' } as const
const root = createZoneSigner('')
const com = createZoneSigner('com')
const example = createZoneSigner(ZONE)
const EXPIRED: SignatureTimes = { from: '20200101000000', until: '20210101000000' }
const wires = (records: readonly { wire: Buffer }[]) => records.map(({ wire }) => wire)
const keysOf = (zone: string, signer: typeof root, times?: SignatureTimes): Response => ({
  question: [zone, 'DNSKEY'],
  answer: wires(signer.keys(times)),
})
const dsOf = (zone: string, ds: string, parent: typeof root, times?: SignatureTimes): Response => ({
  question: [zone, 'DS'],
  answer: wires(parent.signRrset(`${zone}. 300 IN DS ${ds}`, times)),
})
/** That a delegation has no DS records, signed by its parent. */
const noDs = (zone: string, parent: typeof root, soa: string): Response => ({
  question: [zone, 'DS'],
  authority: wires([...parent.signRrset(soa), ...parent.signRrset(`${zone}. 300 IN NSEC ${zone}a. NS RRSIG NSEC`)]),
})
const ROOT_SOA = '. 300 IN SOA a. h. 1 2 3 4 5'
const COM_SOA = 'com. 300 IN SOA a.nic.com. h.nic.com. 1 2 3 4 5'
const UNSIGNED_DS: Response = { question: ['com', 'DS'], answer: dsOf('com', com.ds, root).answer!.slice(0, 1) }
const answer = (times?: SignatureTimes): Response => ({
  question: ['www.example.com', 'A'],
  answer: wires(example.signRrset('www.example.com. 300 IN A 192.0.2.1', times)),
})

type Signed = { root: Response[]; com: Response[]; zone: Response[] }
const SECURE: Signed = {
  root: [keysOf('', root), dsOf('com', com.ds, root)],
  com: [keysOf('com', com), dsOf(ZONE, example.ds, com)],
  zone: [keysOf(ZONE, example), answer()],
}

async function givenTree(signed: Partial<Signed>) {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const responses = { ...SECURE, ...signed }
  const [parent] = (await tree.zone('com', ['a.nic.com'])) as [DnsServer]
  const [server] = (await tree.zone(ZONE, ['ns1.example.com'], [parent])) as [DnsServer]
  const hasDs = (list: readonly Response[], name: string) =>
    list.some(
      ({ question: [owner, type], answer: records = [] }) => owner === name && type === 'DS' && records.length > 0,
    )
  if (hasDs(responses.root, 'com')) tree.root.set('com', 'DS', [dsValue(com.ds)])
  if (hasDs(responses.com, ZONE)) parent.set(ZONE, 'DS', [dsValue(example.ds)])
  serveSigned(tree.root, responses.root, 'zone')
  serveSigned(parent, responses.com, 'zone')
  serveSigned(server, responses.zone)
  const dns = givenDnsClient([])
  const authoritativeClient = createAuthoritativeClient({ dns, clock: patientClock, roots: [tree.root.address] })
  const validator = createServerValidator({
    sender: dns,
    chainOfTrust: createChainOfTrust({
      sender: dns,
      authoritativeClient,
      clock: patientClock,
      anchors: [parseDsText(root.ds)!],
      timeoutMs: 300,
    }),
    clock: patientClock,
    port: tree.root.address.port,
    timeoutMs: 300,
  })
  const view = await authoritativeClient.zoneView(www, { fresh: true })
  const { signal } = new AbortController()
  return {
    root: tree.root,
    parent,
    verdict: () => validator.validate(www, view!, 0, { signal }),
    validity: () => validatorForRules(validator)!.validate(www, view!, 0, { signal }),
  }
}

test('data is secure if a chain of signatures leads to it from the trust anchor', async () => {
  const { verdict, validity } = await givenTree({})
  expect(await verdict()).toMatchObject({ kind: 'secure' })
  expect(await validity()).toEqual({ kind: 'secure' })
})

test('data is bogus if its own signature is, and the rules learn the extended error', async () => {
  const { validity } = await givenTree({ zone: [keysOf(ZONE, example), answer(EXPIRED)] })
  expect(await validity()).toMatchObject({ kind: 'bogus', ede: [{ code: 7 }] })
})

test.each<[string, Partial<Signed>, string, string, string]>([
  [
    'expired DS records',
    { com: [keysOf('com', com), dsOf(ZONE, example.ds, com, EXPIRED)] },
    'signature_expired',
    'a.nic.com',
    'bogus_above',
  ],
  [
    'expired DNSKEY records of the zone above',
    { com: [keysOf('com', com, EXPIRED), dsOf(ZONE, example.ds, com)] },
    'signature_expired',
    'a.nic.com',
    'bogus_above',
  ],
  [
    'DS records of the zone above that match no key',
    { root: [keysOf('', root), dsOf('com', example.ds, root)] },
    'no_key_for_ds',
    'a.nic.com',
    'bogus_above',
  ],
  [
    'a denial of DS records without proof',
    { com: [keysOf('com', com), { question: [ZONE, 'DS'], authority: wires(com.signRrset(COM_SOA)) }] },
    'missing_denial',
    'a.nic.com',
    'indeterminate',
  ],
  [
    'signatures that are removed on the way',
    { root: [keysOf('', root), UNSIGNED_DS] },
    'missing_signature',
    '',
    'indeterminate',
  ],
  [
    'an expired root zone, as with a clock that is wrong',
    { root: [keysOf('', root, EXPIRED), dsOf('com', com.ds, root, EXPIRED)] },
    'signature_expired',
    '',
    'indeterminate',
  ],
])(
  'what is below %s is bogus for resolvers, and may be bogus for the rules',
  async (_, signed, code, nameServer, kind) => {
    const { verdict, validity } = await givenTree(signed)
    const found = await verdict()
    expect(found).toMatchObject({ kind: 'bogus', cause: { code } })
    if (nameServer !== '') expect(found.above).toEqual({ nameServer, zone: 'com' })
    expect((await validity()).kind).toBe(kind)
  },
)

test.each<[string, Partial<Signed>, string]>([
  ['a zone without DS records', { com: [keysOf('com', com), noDs(ZONE, com, COM_SOA)] }, 'no_ds'],
  ['DS records below an unsigned zone', { root: [keysOf('', root), noDs('com', root, ROOT_SOA)] }, 'no_ds_above'],
])('%s is unsigned, whatever its signatures are', async (_, signed, reason) => {
  const { verdict } = await givenTree({ ...signed, zone: [keysOf(ZONE, example), answer(EXPIRED)] })
  expect(await verdict()).toMatchObject({ kind: 'unsigned', reason })
})

test('the zones above are asked once for many names, and again when data seems bogus', async () => {
  const { root: rootServer, parent, verdict } = await givenTree({})
  const count = () => rootServer.queries.count('com') + parent.queries.count('com')
  await verdict()
  const first = count()
  for (let index = 0; index < 5; index++) await verdict()
  expect(count()).toBe(first)
})

test('silent zones above leave no verdict, which a later check can find', async () => {
  const { parent, validity } = await givenTree({})
  parent.drop('*')
  expect(await validity()).toEqual({ kind: 'unknown' })
  parent.recover('*')
  serveSigned(parent, SECURE.com, 'zone')
  expect(await validity()).toEqual({ kind: 'secure' })
})
