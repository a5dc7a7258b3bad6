import { deleteAccount } from '../accounts/delete-account.ts'
import { findAccount, lockAccount } from '../accounts/users.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { OPERATOR, operatorContext } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import { cancelDeletion, requestDeletion } from '../deletion/organization-deletion.ts'
import { getOrganizationBySlug, print, throwProblemText } from './arguments.ts'
import { withDatabase } from './prepare-database.ts'

/** `zonewatch delete-person EMAIL`: a person who left the company. */
export async function deletePerson(email: string): Promise<void> {
  await withDatabase(async (db) => {
    const origin = { requestId: null, address: null, now: systemClock.now() }
    const deleted = await inTransaction(db, async (transaction) => {
      const found = await findAccount(transaction, email)
      const account = found && (await lockAccount(transaction, found.id))
      if (!account) throw new CliError(`No account has the address "${email}".`)
      return { email: account.email, left: await deleteAccount(transaction, account, origin, OPERATOR) }
    }).catch(throwProblemText)
    print(
      `The account of ${deleted.email} is deleted, with its sessions and links. Organizations left: ${deleted.left}. Audit logs keep the name until their entries expire.`,
    )
  })
}

/** `zonewatch delete-organization SLUG`. */
export async function deleteOrganizationOf(
  slug: string,
  { name, now }: { name: string; now?: boolean },
): Promise<void> {
  await withDatabase(async (db) => {
    const { id } = await getOrganizationBySlug(db, slug)
    const context = operatorContext(id, systemClock.now())
    const { deletes } = await requestDeletion(db, context, { name, ...(now && { afterMs: 0 }) }).catch(throwProblemText)
    print(
      now
        ? `The server deletes everything of ${slug} from now on. Its log says when nothing is left.`
        : `Everything of ${slug} is deleted at ${deletes}. To cancel that: zonewatch keep-organization ${slug}`,
    )
  })
}

/** `zonewatch keep-organization SLUG`. */
export async function keepOrganization(slug: string): Promise<void> {
  await withDatabase(async (db) => {
    const { id } = await getOrganizationBySlug(db, slug)
    await cancelDeletion(db, operatorContext(id, systemClock.now())).catch(throwProblemText)
    print(`${slug} is not deleted.`)
  })
}
