import { fieldError } from '#contract/field-errors.ts'
import { invalid } from '../problem.ts'
import { SIGNATURE_OCTETS, type Signer } from '../seal.ts'

/** Where a page ends: what the row is ordered by, and its id, which breaks ties. */
export type Position = { value: string | number | null; id: string }
type Direction = 'after' | 'before'

/** Opaque tokens: a direction and a position, behind a signature that binds them to the list, its filters and its order. */
export function cursorsOf(seal: Signer, context: string) {
  const signed = (payload: string) => `${context}\n${payload}`
  return {
    write(direction: Direction, { value, id }: Position): string {
      const payload = JSON.stringify([direction, value, id])
      return Buffer.concat([seal.sign(signed(payload)), Buffer.from(payload)]).toString('base64url')
    },
    /** Throws a 400 for a token that is not exactly one that this list gave out for this direction. */
    read(direction: Direction, cursor: string): Position {
      const octets = Buffer.from(cursor, 'base64url')
      const payload = octets.toString('utf8', SIGNATURE_OCTETS)
      const isOurs = seal.isSigned(signed(payload), octets.subarray(0, SIGNATURE_OCTETS))
      // Decoding forgives what an altered cursor may hold; only the exact token that was given out is good.
      const isExact = octets.toString('base64url') === cursor
      const [given, value, id] = isOurs && isExact ? JSON.parse(payload) : []
      if (given !== direction) {
        throw invalid({
          [direction]: fieldError('invalid_cursor'),
        })
      }
      return { value, id }
    },
  }
}
