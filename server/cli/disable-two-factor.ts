import { disableSecondFactor } from '../accounts/second-factor.ts'
import { findAccount, lockAccount } from '../accounts/users.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { OPERATOR } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import { withDatabase } from './prepare-database.ts'

/** For a user who lost the authenticator app and all recovery codes. The user then signs in with the password alone. */
export async function disableSecondFactorOf(email: string): Promise<void> {
  await withDatabase(async (db) => {
    const origin = { requestId: null, address: null, now: systemClock.now() }
    const address = await inTransaction(db, async (transaction) => {
      const found = await findAccount(transaction, email)
      const account = found && (await lockAccount(transaction, found.id))
      if (!account) throw new CliError(`No account has the address "${email}".`)
      if (!account.hasSecondFactor) throw new CliError(`${account.email} does not use two-factor authentication.`)
      await disableSecondFactor(transaction, account, origin, OPERATOR)
      return account.email
    })
    process.stdout.write(
      `${address} signs in with the password alone. Ask the person to turn two-factor authentication on again.\n`,
    )
  })
}
