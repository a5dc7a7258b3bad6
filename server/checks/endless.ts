import type { Outcome, Reply } from '../dns/outcome.ts'
import { addEvidence, type Hearing } from './hearing.ts'
import { aliasesFrom } from './lookup.ts'
import { isServfail } from './replies.ts'

/**
 * Whether an alias loop, or a chain that is too long, is what made a question fail: many recursive servers only say SERVFAIL
 * then, and yet answer for each link alone.
 */
export async function findEndless(hearing: Hearing, replies: readonly Reply[]): Promise<Outcome | undefined> {
  const { suspicion, doors, signal } = hearing
  if (!replies.some(({ outcome }) => isServfail(outcome))) return undefined
  const { outcome, evidence } = await aliasesFrom(suspicion.owner)(doors.dns, { tries: 2, signal })
  if (outcome.kind !== 'endless_alias') return undefined
  addEvidence(hearing, evidence)
  return outcome
}
