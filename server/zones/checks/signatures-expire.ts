import { Type } from 'typebox'
import { DAY_MS, toIso } from '../../times.ts'
import type { SignatureFacts } from '../facts.ts'
import { aboutAnswering, minute, zoneCheck } from '../zone-check.ts'

/** Of their validity. */
const CLOSE = 1 / 4
const AT_LEAST_MS = 3 * DAY_MS
/** Signatures with a shorter validity are made for each answer, or every day. */
const SHORT_MS = 6 * DAY_MS

export const signaturesExpire = zoneCheck({
  code: 'signatures_expire',
  level: 'warning',
  about:
    'Less than a quarter of the validity of the signatures is left, or less than three days. If they are valid for less than six days, only the quarter counts. SOA, NS and DNSKEY records are looked at.',
  params: {
    name_server: Type.String(),
    record_type: Type.String({ description: 'The type of the records whose signatures expire first.' }),
    expires_at: Type.String({ format: 'date-time' }),
  },
  text: ({ name_server, record_type, expires_at }) =>
    `The signature of the ${record_type} records on ${name_server} expires at ${minute(expires_at)}.`,
  advice: ({ name_server }) =>
    `Sign the zone again before then, and check why the signer does not: its log, its disk, and the transfer to ${name_server}.`,
  find: ({ facts: { at, ds }, servers }) =>
    aboutAnswering(servers, ({ name, response: { signatures } }) => {
      // Without DS records nobody validates them. What has expired is bogus.
      if (ds === null) return 'unknown'
      if (ds.length === 0) return undefined
      const close = lastOfEachType(signatures).filter((signature) => isClose(signature, at))
      const [first] = close.sort((one, other) => one.expiration - other.expiration)
      return first && { name_server: name, record_type: first.type, expires_at: toIso(first.expiration) }
    }),
})

function isClose({ inception, expiration }: SignatureFacts, at: number): boolean {
  const validity = expiration - inception
  const limit = Math.max(CLOSE * validity, validity >= SHORT_MS ? AT_LEAST_MS : 0)
  return expiration > at && expiration - at < limit
}

/** One valid signature is enough. */
export function lastOfEachType(signatures: readonly SignatureFacts[]): SignatureFacts[] {
  const byType = Map.groupBy(signatures, ({ type }) => type)
  return [...byType.values()].map((each) =>
    each.reduce((one, other) => (other.expiration > one.expiration ? other : one)),
  )
}
