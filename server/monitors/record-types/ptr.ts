import { hostRecord } from './fields.ts'

/** RFC 1035 section 3.3.12. */
export const ptr = hostRecord({ queryType: 'PTR', code: 12, likelyAt: ['address'] })
