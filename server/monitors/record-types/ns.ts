import { hostRecord } from './fields.ts'

/** RFC 1035 section 3.3.11. */
export const ns = hostRecord({ queryType: 'NS', code: 2, likelyAt: ['apex', 'host'] })
