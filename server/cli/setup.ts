import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { insertOrganization } from '../accounts/organizations.ts'
import { scryptPasswords } from '../accounts/passwords.ts'
import { findAccount } from '../accounts/users.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { print, printJson } from './arguments.ts'
import { withDatabase } from './prepare-database.ts'

export type SetupOptions = { organization: string; email: string; password?: string; json?: boolean }

/** Creates an organization with its owner, its default group and its first API key. */
export async function setup({ organization, email, json, ...options }: SetupOptions): Promise<void> {
  if (organization.trim() === '' || organization.length > 250)
    throw new CliError('--organization needs a name of 1 to 250 characters.')
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new CliError(`--email: "${email}" is not an email address.`)
  const password = options.password ?? (await readPassword())
  if (password.length < 8) throw new CliError('The password must have at least 8 characters.')
  await withDatabase(async (db, { baseUrl }) => {
    await refuseOtherPassword(db, email, password)
    const passwordHash = await scryptPasswords.hash(password)
    const input = { name: organization.trim(), email, passwordHash }
    const { id, slug, ownerId, keyId, key } = await insertOrganization(db, input, systemClock.now())
    if (json) {
      const object = { organization_id: id, organization: slug, owner_id: ownerId, api_key_id: keyId, api_key: key }
      return printJson(object)
    }
    print(`Created the organization ${organization} (slug ${slug}) with the owner ${email}.

Its first API key may do everything, and is shown only once:

  ${key}

Try it while the server runs:

  curl -H "X-Api-Key: ${key}" ${baseUrl}/monitors`)
  })
}

/** Every user of the machine can read the arguments of a command, but not its standard input. */
async function readPassword(): Promise<string> {
  if (!process.stdin.isTTY) return (await text(process.stdin)).split(/\r?\n/, 1)[0]!
  process.stderr.write('Password: ')
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true })
  try {
    return await new Promise((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => reject(new CliError('No password was entered.')))
    })
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** An existing account keeps its password, so the command must not seem to set another one. */
async function refuseOtherPassword(db: Database, email: string, password: string): Promise<void> {
  const hash = (await findAccount(db, email))?.passwordHash
  if (!hash || (await scryptPasswords.verify({ hash, password }))) return
  throw new CliError(
    `${email} already has an account with another password. Use that password, or reset it in the dashboard.`,
  )
}
