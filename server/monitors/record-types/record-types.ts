import type { MonitorRecordType } from '#contract/record-types.ts'
import type { RdataFormats } from '../../dns/rdata.ts'
import { a } from './a.ts'
import { aaaa } from './aaaa.ts'
import { caa } from './caa.ts'
import { cname } from './cname.ts'
import { ds } from './ds.ts'
import { mx } from './mx.ts'
import { naptr } from './naptr.ts'
import { ns } from './ns.ts'
import { ptr } from './ptr.ts'
import type { MonitoredType, RecordType } from './record-type.ts'
import { soa } from './soa.ts'
import { spf } from './spf.ts'
import { srv } from './srv.ts'
import { sshfp } from './sshfp.ts'
import { https, svcb } from './svcb.ts'
import { tlsa } from './tlsa.ts'
import { txt } from './txt.ts'

type Zoned = Exclude<MonitorRecordType, 'SPF'>

/** The types that zones hold. */
const ZONED: { readonly [T in Zoned]: RecordType } = {
  A: a,
  AAAA: aaaa,
  CNAME: cname,
  MX: mx,
  TXT: txt,
  NS: ns,
  PTR: ptr,
  CAA: caa,
  SRV: srv,
  TLSA: tlsa,
  SSHFP: sshfp,
  HTTPS: https,
  SVCB: svcb,
  DS: ds,
  SOA: soa,
  NAPTR: naptr,
}

const MONITORED: { readonly [T in MonitorRecordType]: MonitoredType } = { ...ZONED, SPF: spf }

/** For the DNS client. */
export const RDATA_FORMATS: RdataFormats = ZONED

export function recordTypeOf(type: MonitorRecordType): MonitoredType {
  return MONITORED[type]
}

/** What a zone file calls a type: its name, or TYPE and its number (RFC 3597 section 5). Undefined for one that is not monitored. */
export function findZonedType(name: string): { type: Zoned; recordType: RecordType } | undefined {
  return zoned.get(name)
}

const zoned: ReadonlyMap<string, { type: Zoned; recordType: RecordType }> = new Map(
  (Object.keys(ZONED) as Zoned[]).flatMap((type) => {
    const found = { type, recordType: ZONED[type] }
    return [[type as string, found] as const, [`TYPE${ZONED[type].code}`, found] as const]
  }),
)
