import type { Deps } from '../deps.ts'

type OperatorSettings = Pick<Deps['config'], 'operators' | 'signUp' | 'smtp'>

/**
 * OPERATORS lists the operators by address, which must be confirmed if anybody could claim it. Without that setting, the owners
 * of the first organization are the operators, unless sign-up is open.
 */
export async function isOperator(
  { db, config }: { db: Deps['db']; config: OperatorSettings },
  userId: string,
): Promise<boolean> {
  const { operators, signUp, smtp } = config
  if (operators.length > 0) {
    const user = await db
      .selectFrom('people')
      .select(['email', 'email_verified'])
      .where('id', '=', userId)
      .executeTakeFirst()
    if (!user || !operators.includes(user.email.toLowerCase())) return false
    // Without a mail server, no address can be confirmed. With sign-up off, nobody joins uninvited.
    return user.email_verified === 1 || (smtp === null && signUp === 'off')
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
