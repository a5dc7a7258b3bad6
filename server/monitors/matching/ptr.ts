import { hostMatcher } from './hosts.ts'

export const ptr = hostMatcher('PTR')
