import type { Rdata } from '../../dns/rdata.ts'

/** RFC 1035 section 3.3.13. */
export const soa = {
  code: 6,
  read: (rdata: Rdata) => [rdata.name(), rdata.name(), ...Array.from({ length: 5 }, () => rdata.uint32())].join(' '),
}
