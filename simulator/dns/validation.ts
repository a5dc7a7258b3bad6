import type { RRset } from './message.ts'

/** The extended error of RFC 8914 if no valid signature by one of the keys covers the RRset. RFC 4035 section 5.3. */
export function checkSignature({ signature }: RRset, keys: readonly string[], time: number): number | undefined {
  if (!signature) return 10
  if (!keys.includes(signature.key)) return 9
  if (time < signature.from) return 8
  if (time >= signature.until) return 7
  return signature.isForged ? 6 : undefined
}
