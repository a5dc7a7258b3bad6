import { hostMatcher } from './hosts.ts'

export const ns = hostMatcher('NS')
