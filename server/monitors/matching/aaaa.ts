import { addressMatcher } from './addresses.ts'

export const aaaa = addressMatcher({
  questionType: 'AAAA',
  kind: 'ipv6',
  bits: 128,
  example: '2001:db8::1',
  block: '2001:db8::/32',
})
