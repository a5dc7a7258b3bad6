import { addressRecord } from './addresses.ts'

/** RFC 1035 section 3.4.1. */
export const a = addressRecord({
  queryType: 'A',
  code: 1,
  name: 'IPv4',
  bits: 32,
  text: ([a, b, c, d]) => `${a}.${b}.${c}.${d}`,
})
