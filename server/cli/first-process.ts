import { findSetupLink, hasOrganizations, setUpOnce } from '../accounts/first-owner.ts'
import { insertOrganization } from '../accounts/organizations.ts'
import { scryptPasswords } from '../accounts/passwords.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'

/** Creates the organization of ADMIN_EMAIL in an empty database. */
export async function createAdmin(db: Database, { admin }: Config, now: number): Promise<void> {
  if (!admin || (await hasOrganizations(db))) return
  const passwordHash = await scryptPasswords.hash(admin.password)
  const name = admin.email.split('@')[1]!
  const organization = { name, email: admin.email, passwordHash, ...(admin.apiKey ? { apiKey: admin.apiKey } : {}) }
  await setUpOnce(db, (transaction) => insertOrganization(transaction, organization, now))
}

/** Logs where the server is and what to do first. */
export async function logGreeting({ config, db, keyring, log }: Deps): Promise<void> {
  const status = config.roles.has('api')
    ? `Zonewatch runs at ${config.baseUrl} (documentation: ${config.baseUrl}/docs)`
    : 'Zonewatch is running'
  const storage = config.databaseUrl.startsWith('sqlite:') ? config.dataDir : 'PostgreSQL'
  log.info(`${status} and stores its data in ${storage}.`)
  if (await hasOrganizations(db)) {
    log.info(`Sign in at ${config.baseUrl}/dashboard. API clients send a key in the X-Api-Key header.`)
    return
  }
  const link = await findSetupLink(db, keyring, config.baseUrl)
  if (link === undefined) return
  log.info(`No organization exists yet. To create one with your account, open: ${link}`)
  log.info('The link works once. Or use the command line: zonewatch setup --help')
}
