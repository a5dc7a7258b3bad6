import { hasOrganizations, insertOrganization, whileEmpty } from '../accounts/organizations.ts'
import { scryptPasswords } from '../accounts/passwords.ts'
import { findSetupLink } from '../accounts/setup-link.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'

/** What only the first process of a server does. */

/** The organization of the settings, on an empty database. */
export async function makeAdmin(db: Database, { admin }: Config, now: number): Promise<void> {
  if (!admin || (await hasOrganizations(db))) return
  const passwordHash = await scryptPasswords.hash(admin.password)
  const name = admin.email.split('@')[1]!
  const given = { name, email: admin.email, passwordHash, ...(admin.apiKey ? { apiKey: admin.apiKey } : {}) }
  await whileEmpty(db, (transaction) => insertOrganization(transaction, given, now))
}

/** Says in plain words where to go first. */
export async function greet({ config, db, seal, log }: Deps): Promise<void> {
  const at = config.roles.has('api')
    ? `Zonewatch answers at ${config.baseUrl} (its API is described at ${config.baseUrl}/docs)`
    : 'Zonewatch is running'
  log.info(`${at} and keeps its data in ${config.databaseUrl.startsWith('sqlite:') ? config.dataDir : 'PostgreSQL'}.`)
  if (await hasOrganizations(db)) {
    log.info(`Sign in at ${config.baseUrl}/dashboard; programs send an API key in the header X-Api-Key.`)
    return
  }
  const link = await findSetupLink(db, seal, config.baseUrl)
  if (link === undefined) return
  log.info(`No organization exists yet. Create one and your account in a browser: ${link}`)
  log.info('The link works once. To use the command line instead: npm run zonewatch -- setup --help')
}
