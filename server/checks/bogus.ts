import type { Outcome, Reply } from '../dns/outcome.ts'
import type { CheckDoors } from './hearing.ts'
import type { Lookup } from './lookup.ts'
import { isGood, isServfail } from './replies.ts'

/**
 * Whether DNSSEC is what made a question fail: the recursive servers that answered SERVFAIL are asked once more with
 * validation switched off. The failure marked as bogus where records come then. RFC 4035 section 5.5, RFC 6840 section 5.9.
 */
export async function findBogus(
  { outcome }: Reply,
  ask: Lookup,
  { dns }: Pick<CheckDoors, 'dns'>,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; reply: Reply } | undefined> {
  if (!isServfail(outcome)) return undefined
  const reply = await ask(dns, { checkingDisabled: true, tries: 2, signal })
  return isGood(reply.outcome) ? { outcome: { ...outcome, bogus: true }, reply } : undefined
}
