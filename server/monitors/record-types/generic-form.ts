import { type RdataFormat, rdataText } from '../../dns/rdata.ts'
import { MalformedPacket } from '../../dns/wire.ts'
import type { Token } from './presentation.ts'

/** Whether the data is in the form for any type, `\# 4 c0000201`: its octets in hexadecimal, their number before them. */
export function isGenericForm(data: readonly Token[]): boolean {
  return data[0]?.raw === '\\#' && !data[0].isQuoted
}

/** The canonical text of data in that form; undefined where it is not that of the type. RFC 3597 section 5. */
export function readGenericForm(format: RdataFormat, [, length, ...digits]: readonly Token[]): string | undefined {
  const written = digits.map(({ raw }) => raw).join('')
  const octets = Buffer.from(written, 'hex')
  if (!/^\d+$/.test(length?.raw ?? '') || octets.length !== Number(length?.raw)) return undefined
  if (written.length !== 2 * octets.length) return undefined
  try {
    return rdataText(format, { octets, tails: new Map() }, 0, octets.length)
  } catch (error) {
    if (error instanceof MalformedPacket) return undefined
    throw error
  }
}
