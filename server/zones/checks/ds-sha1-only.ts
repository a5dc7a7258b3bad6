import { Type } from 'typebox'
import { aboutZone, UNKNOWN, zoneCheck } from '../zone-check.ts'

const SHA_1 = 1

export const dsSha1Only = zoneCheck({
  code: 'ds_sha1_only',
  level: 'warning',
  about: 'All DS records at the parent zone have digests of type SHA-1, which must not be used. RFC 8624 section 3.3.',
  params: { zone: Type.String(), key_tags: Type.Array(Type.Integer()) },
  text: ({ zone, key_tags }) => `The DS records of ${zone} (key ${key_tags.join(', ')}) have only SHA-1 digests.`,
  advice: ({ zone }) => `Enter a DS record with a SHA-256 digest (type 2) at the registrar of ${zone}.`,
  find: ({ zone, facts: { ds } }) => {
    if (ds === null) return UNKNOWN
    const isOld = ds.length > 0 && ds.every(({ digestType }) => digestType === SHA_1)
    const keyTags = [...new Set(ds.map(({ keyTag }) => keyTag))].sort((one, other) => one - other)
    return aboutZone(isOld ? { zone, key_tags: keyTags } : undefined)
  },
})
