import type { DnsServer } from '#server/testing/dns-server.ts'
import type { Response } from '#server/testing/signed-zone.ts'
import { createZoneSigner, dsValue, type SignatureTimes, serveSigned } from '#server/testing/zone-signer.ts'
import { ADDRESS, type Lab, NAME } from './lab.ts'
import type { Scenario } from './scenario.ts'

const root = createZoneSigner('')
const tld = createZoneSigner('test')
const example = createZoneSigner('example.test')
const cdn = createZoneSigner('cdn.test')
type Signer = typeof root

const EXPIRED: SignatureTimes = { from: '20200101000000', until: '20210101000000' }
const CNAME = `${NAME}. 300 IN CNAME edge.cdn.test.`
const EDGE = `edge.cdn.test. 300 IN A ${ADDRESS}`

const response = (name: string, type: string, records: readonly { wire: Buffer }[]): Response => ({
  question: [name, type],
  answer: records.map(({ wire }) => wire),
})
const keys = (zone: string, signer: Signer) => response(zone, 'DNSKEY', signer.keys())
const ds = (zone: string, { ds }: Signer, parent: Signer, times?: SignatureTimes) =>
  response(zone, 'DS', parent.signRrset(`${zone}. 300 IN DS ${ds}`, times))
const noDs = (zone: string, parent: Signer, soa: string): Response => ({
  question: [zone, 'DS'],
  authority: [...parent.signRrset(soa), ...parent.signRrset(`${zone}. 300 IN NSEC ${zone}a. NS RRSIG NSEC`)].map(
    ({ wire }) => wire,
  ),
})
const ROOT_SOA = '. 300 IN SOA root. hostmaster. 1 1800 900 604800 86400'

type Signatures = {
  /** Of the records of the monitored name. */
  record?: SignatureTimes
  /** Of the DS records of the zone at its parent. */
  ds?: SignatureTimes
  /** Of the records that the CNAME record leads to. */
  target?: SignatureTimes
  /** The top-level domain has no DS records, so nothing below it is validated. */
  isIsland?: boolean
  hasCname?: boolean
  /** A machine on the way removes the signatures of these records and those of the root zone. */
  isStripped?: boolean
  address?: string
}

/** Signs all zones, so that a chain of trust leads from the trust anchor to the monitored name. */
const sign =
  ({ record, ds: dsTimes, target, isIsland, hasCname, isStripped, address = ADDRESS }: Signatures = {}) =>
  (lab: Lab): void => {
    const signedDs = ds('test', tld, root)
    const withoutSignatures = { ...signedDs, answer: signedDs.answer!.slice(0, 1) }
    if (!isIsland) lab.root.set('test', 'DS', [dsValue(tld.ds)])
    lab.tld.set('example.test', 'DS', [dsValue(example.ds)])
    lab.tld.set('cdn.test', 'DS', [dsValue(cdn.ds)])
    serveSigned(
      lab.root,
      [keys('', root), isIsland ? noDs('test', root, ROOT_SOA) : isStripped ? withoutSignatures : signedDs],
      'zone',
    )
    serveSigned(
      lab.tld,
      [keys('test', tld), ds('example.test', example, tld, dsTimes), ds('cdn.test', cdn, tld)],
      'zone',
    )
    const records = example.signRrset(hasCname ? CNAME : `${NAME}. 300 IN A ${address}`, record)
    const own = isStripped ? records.slice(0, 1) : records
    if (hasCname) {
      for (const server of lab.allServers) {
        server.remove(NAME, 'A')
        server.set(NAME, 'CNAME', ['edge.cdn.test'])
      }
    }
    for (const server of lab.zone)
      serveSigned(server, [keys('example.test', example), response(NAME, 'A', own)], 'zone')
    serveSigned(lab.cdn, [keys('cdn.test', cdn), response('edge.cdn.test', 'A', cdn.signRrset(EDGE, target))], 'zone')
  }

const validates = (server: DnsServer) => {
  server.set('', 'NS', ['a.root.test'])
  server.authenticate('')
}
const allValidate = ({ resolvers }: Lab) => resolvers.forEach(validates)
/** As resolvers that validate answer for a name that fails. */
const allRefuse = ({ resolvers }: Lab, code: number) => {
  for (const server of resolvers) server.validate(NAME, { code, text: '' })
}

/** Signed zones and a trust anchor: Zonewatch validates what the delegated servers answer. RFC 4035 section 5. */
export const DNSSEC_SCENARIOS: Scenario[] = [
  {
    name: 'DNSSEC, validated here: the signatures expire, and no recursive server validates',
    lab: { trustAnchor: root.ds },
    before: sign(),
    fault: sign({ record: EXPIRED }),
    // Nothing tells Zonewatch to look, until an answer differs.
    becomes: 'VALID',
  },
  {
    name: 'DNSSEC, validated here: the signatures expire, and one recursive server validates',
    lab: { trustAnchor: root.ds },
    before: (lab) => {
      sign()(lab)
      validates(lab.resolvers[0]!)
    },
    fault: (lab) => {
      sign({ record: EXPIRED })(lab)
      lab.resolvers[0]!.validate(NAME, { code: 7, text: '' })
    },
    becomes: 'INVALID',
    diagnosisContains: 'DNSSEC',
    warns: ['dnssec_bogus'],
  },
  {
    name: 'DNSSEC, validated here: recursive servers refuse what is valid',
    lab: { trustAnchor: root.ds },
    before: (lab) => {
      sign()(lab)
      allValidate(lab)
    },
    fault: (lab) => allRefuse(lab, 6),
    becomes: 'VALID',
  },
  {
    name: 'DNSSEC, validated here: the DS records of the parent zone expire',
    lab: { trustAnchor: root.ds },
    before: (lab) => {
      sign()(lab)
      allValidate(lab)
    },
    fault: (lab) => {
      sign({ ds: EXPIRED })(lab)
      allRefuse(lab, 7)
    },
    becomes: 'INVALID',
    warns: ['dnssec_bogus'],
  },
  {
    name: 'DNSSEC, validated here: the signatures expire below a top-level domain without DS records',
    lab: { trustAnchor: root.ds },
    before: (lab) => {
      sign({ isIsland: true })(lab)
      allValidate(lab)
    },
    // One failure makes Zonewatch look, and nothing can be bogus.
    fault: (lab) => {
      sign({ isIsland: true, record: EXPIRED })(lab)
      lab.resolvers[0]!.fail(NAME, 'SERVFAIL')
    },
    becomes: 'VALID',
  },
  {
    name: 'DNSSEC, validated here: the signatures of the target of a CNAME record expire',
    lab: { trustAnchor: root.ds },
    before: (lab) => {
      sign({ hasCname: true })(lab)
      allValidate(lab)
    },
    fault: (lab) => {
      sign({ hasCname: true, target: EXPIRED })(lab)
      allRefuse(lab, 7)
    },
    becomes: 'INVALID',
    warns: ['dnssec_bogus'],
  },
  {
    name: 'DNSSEC, validated here: a record changes while signatures are removed on the way to Zonewatch',
    lab: { trustAnchor: root.ds },
    before: (lab) => {
      sign()(lab)
      allValidate(lab)
    },
    fault: (lab) => {
      lab.set(NAME, 'A', ['192.0.2.9'])
      sign({ address: '192.0.2.9', isStripped: true })(lab)
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.9'],
  },
]
