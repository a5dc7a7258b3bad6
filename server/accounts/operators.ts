import type { Deps } from '../deps.ts'

type OperatorSettings = Pick<Deps['config'], 'operators' | 'signUp' | 'smtp'>

/**
 * Whether a person operates this server. OPERATORS names them by address, which must be confirmed wherever strangers could claim
 * it. Without that setting they are the owners of the first organization, unless anyone may sign up.
 */
export async function isOperator(
  { db, config }: { db: Deps['db']; config: OperatorSettings },
  userId: string,
): Promise<boolean> {
  const { operators, signUp, smtp } = config
  if (operators.length > 0) {
    const person = await db
      .selectFrom('people')
      .select(['email', 'email_verified'])
      .where('id', '=', userId)
      .executeTakeFirst()
    if (!person || !operators.includes(person.email.toLowerCase())) return false
    // Without a mail server nothing can be confirmed, and with sign-up off nobody joins uninvited.
    return person.email_verified === 1 || (smtp === null && signUp === 'off')
  }
  if (signUp === 'open') return false
  const first = await db.selectFrom('organizations').select('id').orderBy('id').limit(1).executeTakeFirst()
  if (!first) return false
  const owner = await db
    .selectFrom('agents')
    .select('id')
    .where('organization_id', '=', first.id)
    .where('person_id', '=', userId)
    .where('role', '=', 'owner')
    .executeTakeFirst()
  return owner !== undefined
}
