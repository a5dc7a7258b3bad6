import { ipv6Text } from '../../dns/addresses.ts'
import { addressRecord } from './addresses.ts'

/** RFC 3596 section 2. */
export const aaaa = addressRecord({
  queryType: 'AAAA',
  code: 28,
  name: 'IPv6',
  bits: 128,
  text: ipv6Text,
})
