import { Type } from 'typebox'
import { isAnswering } from '../facts.ts'
import { aboutZone, UNKNOWN, zoneCheck } from '../zone-check.ts'

/** Those that must not, or should not, sign zones because of MD5, DSA, SHA-1 or GOST. RFC 8624 section 3.1. */
const OLD: Readonly<Record<number, string>> = {
  1: 'RSAMD5',
  3: 'DSA',
  5: 'RSASHA1',
  6: 'DSA-NSEC3-SHA1',
  7: 'RSASHA1-NSEC3-SHA1',
  12: 'ECC-GOST',
}

export const oldAlgorithm = zoneCheck({
  code: 'old_algorithm',
  level: 'warning',
  about:
    'The zone is signed with an algorithm that should no longer be used (RSAMD5, DSA, RSASHA1, GOST). RFC 8624 section 3.1. Validators increasingly treat it as unsigned.',
  params: { zone: Type.String(), algorithms: Type.Array(Type.String()) },
  text: ({ zone, algorithms }) => `${zone} is signed with ${algorithms.join(', ')}.`,
  advice: ({ zone }) => `Roll the keys of ${zone} over to ECDSAP256SHA256 (13) or ED25519 (15).`,
  find: ({ zone, facts: { ds }, servers }) => {
    if (ds === null) return UNKNOWN
    if (ds.length === 0) return []
    const keys = servers.filter(isAnswering).flatMap(({ response }) => response.keys ?? [])
    const numbers = new Set([...ds, ...keys].map(({ algorithm }) => algorithm))
    const algorithms = Object.entries(OLD).flatMap(([number, mnemonic]) =>
      numbers.has(Number(number)) ? [mnemonic] : [],
    )
    return aboutZone(algorithms.length > 0 ? { zone, algorithms } : undefined)
  },
})
