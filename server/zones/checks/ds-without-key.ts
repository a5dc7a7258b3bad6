import { Type } from 'typebox'
import { isAnswering } from '../facts.ts'
import { aboutZone, UNKNOWN, zoneCheck } from '../zone-check.ts'

export const dsWithoutKey = zoneCheck({
  code: 'ds_without_key',
  level: 'info',
  about:
    'A DS record at the parent zone matches no DNSKEY record, while another one does. That is normal during a rollover. RFC 6781 section 4.1.',
  params: { zone: Type.String(), key_tags: Type.Array(Type.Integer()) },
  text: ({ zone, key_tags }) => `${zone} has no key for the DS record with key tag ${key_tags.join(', ')}.`,
  advice: () => 'Remove the DS record at the registrar when the rollover is complete.',
  find: ({ zone, facts: { ds }, servers }) => {
    const sets = servers.filter(isAnswering).flatMap(({ response: { keys } }) => (keys ? [keys] : []))
    if (ds === null || (ds.length > 0 && sets.length === 0)) return UNKNOWN
    const keys = sets.flat()
    const unused = ds.filter(
      (each) => !keys.some((key) => key.keyTag === each.keyTag && key.algorithm === each.algorithm),
    )
    // If none has a key, the zone is bogus.
    if (unused.length === 0 || unused.length === ds.length) return []
    return aboutZone({
      zone,
      key_tags: [...new Set(unused.map(({ keyTag }) => keyTag))].sort((one, other) => one - other),
    })
  },
})
