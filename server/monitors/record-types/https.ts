import { serviceBinding } from './svcb.ts'

/** RFC 9460 section 9. */
export const https = serviceBinding({ queryType: 'HTTPS', code: 65, likelyAt: ['apex', 'host'] })
