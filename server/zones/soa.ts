import { parseOrUndefined } from '../dns/dnssec/wire-records.ts'
import { RdataReader } from '../dns/rdata.ts'
import type { Soa } from './facts.ts'

/** Of canonical rdata. Undefined if it is malformed. RFC 1035 section 3.3.13. */
export function parseSoa(rdata: Buffer): Soa | undefined {
  return parseOrUndefined(() => {
    const reader = new RdataReader({ octets: rdata, tails: new Map() }, 0, rdata.length)
    const soa = {
      mname: reader.name(),
      rname: reader.name(),
      serial: reader.uint32(),
      refresh: reader.uint32(),
      retry: reader.uint32(),
      expire: reader.uint32(),
      minimum: reader.uint32(),
    }
    return reader.isAtEnd ? soa : undefined
  })
}
