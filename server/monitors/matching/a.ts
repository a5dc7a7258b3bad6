import { addressMatcher } from './addresses.ts'

export const a = addressMatcher({
  questionType: 'A',
  kind: 'ipv4',
  bits: 32,
  example: '192.0.2.1',
  block: '192.0.2.0/24',
})
