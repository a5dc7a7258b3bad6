import { Type } from 'typebox'
import { aboutZone, UNKNOWN, zoneCheck } from '../zone-check.ts'

export const nsec3Iterations = zoneCheck({
  code: 'nsec3_iterations',
  level: 'warning',
  about:
    'The NSEC3PARAM record has additional iterations, although it must have 0. Validators may treat denials as unsigned, or refuse them. RFC 9276 section 3.1.',
  params: { zone: Type.String(), iterations: Type.Integer() },
  text: ({ zone, iterations }) => `${zone} uses NSEC3 with ${iterations} additional iterations.`,
  advice: ({ zone }) => `Sign ${zone} with NSEC3 and 0 iterations, or with NSEC.`,
  find: ({ zone, facts: { ds, nsec3Iterations: iterations }, servers }) => {
    if (ds === null || servers.every(({ response }) => response.kind !== 'answers')) return UNKNOWN
    return aboutZone(ds.length > 0 && iterations !== null && iterations > 0 ? { zone, iterations } : undefined)
  },
})
