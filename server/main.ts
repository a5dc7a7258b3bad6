#!/usr/bin/env node
import { Command, Option } from 'commander'
import { visibleLines } from '#contract/visible-text.ts'
import packageJson from '../package.json' with { type: 'json' }
import { CliError } from './cli-error.ts'

/** Each command loads only what it needs, when it runs. */
const program = new Command('zonewatch')
  .description(packageJson.description)
  .version(packageJson.version)
  .showHelpAfterError('(add --help for usage)')

program
  .command('serve')
  .description('start the server: API, checks and deliveries')
  .action(async () => (await import('./cli/serve.ts')).serve())

program
  .command('process <roles>', { hidden: true })
  .description('one process of the server; started by serve')
  .action(async (roles) => (await import('./cli/run-process.ts')).runProcess(roles))

program
  .command('setup')
  .description('create an organization with its owner and its first API key')
  .requiredOption('--organization <name>', 'name of the organization')
  .requiredOption('--email <address>', "the owner's email address")
  .option(
    '--password <text>',
    "the owner's password, at least 8 characters; default: the first line of standard input, or a prompt",
  )
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/setup.ts')).setup(options))

const keys = program.command('keys').description('create, list, limit and revoke API keys')
keys
  .command('create')
  .description('create an API key; it is shown once')
  .requiredOption('--name <name>', 'name of the key')
  .addOption(
    new Option('--role <role>', 'permissions of the key').choices(['read', 'write', 'admin']).makeOptionMandatory(),
  )
  .option('--organization <slug>', 'organization of the key; optional while there is only one')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/keys.ts')).createKey(options))
keys
  .command('list')
  .description('list API keys, active and revoked')
  .option('--organization <slug>', 'only keys of this organization')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/keys.ts')).printKeys(options))
keys
  .command('revoke <key-id>')
  .description('revoke an API key; takes effect immediately')
  .action(async (id) => (await import('./cli/keys.ts')).revoke(id))
const limitText = "requests per minute; 0: no limit; default: the server's limit"
keys
  .command('limits <key-id>')
  .description('set the limits of an API key, above KEY_LIMIT_MAX too')
  .option('--read <n>', `GET and HEAD: ${limitText}`)
  .option('--page <n>', `further pages of lists: ${limitText}`)
  .option('--write <n>', `POST, PUT, PATCH and DELETE: ${limitText}`)
  .option('--create <n>', `creation of monitors: ${limitText}`)
  .option('--check <n>', `checks on demand: ${limitText}`)
  .action(async (id, options) => (await import('./cli/keys.ts')).setLimits(id, options))

const changes = program.command('planned-changes').description('plan changes of records, and watch them spread')
const ofOrganization = [
  '--organization <slug>',
  'organization of the monitor; optional while there is only one',
] as const
changes
  .command('create <name> <type> <value...>')
  .description('plan that the record of a monitor moves to these values')
  .requiredOption('--to <time>', 'end of the period, such as 2026-11-26T18:00:00+01:00')
  .option('--from <time>', 'beginning of the period; default: now')
  .option(...ofOrganization)
  .option('--json', 'print JSON')
  .action(async (name, type, values, options) =>
    (await import('./cli/planned-changes.ts')).planChange(name, type, values, options),
  )
changes
  .command('list')
  .description('list open planned changes')
  .option(...ofOrganization)
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/planned-changes.ts')).printChanges(options))
changes
  .command('show <change-id>')
  .description('show which servers have the new values, and when the old ones expire in the last cache')
  .option(...ofOrganization)
  .option('--json', 'print JSON')
  .action(async (id, options) => (await import('./cli/planned-changes.ts')).printChange(id, options))
changes
  .command('delete <change-id>')
  .description('delete a planned change; the monitor expects the old values again if it is open')
  .option(...ofOrganization)
  .action(async (id, options) => (await import('./cli/planned-changes.ts')).cancelChange(id, options))

program
  .command('proof [name] [type]')
  .description('show which checks were made in a period, of one record or of all monitors')
  .option('--since <time>', 'beginning of the period, such as 2026-10-01; default: 30 days before its end')
  .option('--until <time>', 'end of the period; default: now')
  .option('--organization <slug>', 'organization of the monitors; optional while there is only one')
  .option('--json', 'print JSON')
  .action(async (name, type, options) => (await import('./cli/proof.ts')).printProof(name, type, options))

program
  .command('pull [folder]')
  .description('write the monitors, groups, alerts and webhooks of an organization into YAML files')
  .option('--force', 'replace the YAML files of the folder')
  .action(async (folder, options) => (await import('./cli/as-code.ts')).pull(folder, options))

const adopt = ['--adopt', 'give what already exists the label of the files, so that they can delete it'] as const
const sendSecrets = ['--send-secrets', 'send the secrets of channels again; the server shows none to compare'] as const
program
  .command('plan [path...]')
  .description('show what apply would change; exit code 0: nothing, 2: something, 1: an error')
  .option(...adopt)
  .option(...sendSecrets)
  .option('--json', 'print JSON')
  .action(async (paths, options) => (await import('./cli/as-code.ts')).printPlan(paths, options))

program
  .command('apply [path...]')
  .description('make an organization what the YAML files say')
  .option('--yes', 'do not ask')
  .option('--max-deletions <n>', 'refuse to delete more than this', '20')
  .option(...adopt)
  .option(...sendSecrets)
  .option('--json', 'print JSON')
  .action(async (paths, options) => (await import('./cli/as-code.ts')).apply(paths, options))

program
  .command('assign-plan <organization> <plan>')
  .description('assign a plan of PLANS to an organization (slug) without payment')
  .action(async (organization, plan) => (await import('./cli/assign-plan.ts')).assignPlan(organization, plan))

program
  .command('disable-two-factor <email>')
  .description('turn off two-factor authentication for a person who lost the authenticator app and all recovery codes')
  .action(async (email) => (await import('./cli/disable-two-factor.ts')).disableSecondFactorOf(email))

program
  .command('delete-person <email>')
  .description('delete the account of a person who left, with all memberships, sessions and links')
  .action(async (email) => (await import('./cli/leaving.ts')).deletePerson(email))

program
  .command('delete-organization <organization>')
  .description('delete everything of an organization (slug) in 7 days')
  .requiredOption('--name <name>', 'name of the organization, to confirm')
  .option('--now', 'begin at once')
  .action(async (slug, options) => (await import('./cli/leaving.ts')).deleteOrganizationOf(slug, options))

program
  .command('keep-organization <organization>')
  .description('cancel the deletion of an organization (slug), before it begins')
  .action(async (slug) => (await import('./cli/leaving.ts')).keepOrganization(slug))

program
  .command('check <name> <type> [expected...]')
  .description('check a record once and print the evidence; no server needed')
  .option('--flexible', 'match flexibly instead of exactly')
  .option('--server <ip[:port]>', 'query this name server instead of the configured ones')
  .option('--json', 'print JSON')
  .action(async (name, type, expected, options) =>
    (await import('./cli/check.ts')).check(name, type, expected, options),
  )

program
  .command('migrate')
  .description('run the database migrations')
  .action(async () => (await import('./cli/migrate.ts')).migrateDatabase())

program
  .command('backup <file>')
  .description('back up the SQLite database and its secret into one file, while the server runs')
  .option('--without-secret', 'leave the secret out')
  .option('--json', 'print JSON')
  .action(async (file, { withoutSecret = false, json }) =>
    (await import('./cli/backup.ts')).backup(file, { secret: !withoutSecret, json }),
  )

program
  .command('record-backup [file]')
  .description('record a backup that another program made, such as a dump of PostgreSQL, for alerts and doctor')
  .option('--failed <reason>', 'record that it failed instead')
  .action(async (file, { failed }) => (await import('./cli/backup.ts')).recordBackup(file, failed))

program
  .command('scheduled-backup', { hidden: true })
  .description('one backup into BACKUP_DIR; started by serve')
  .action(async () => (await import('./cli/backup.ts')).scheduledBackup())

program
  .command('restore <file>')
  .description('create the SQLite database and its secret from a backup, in an empty DATA_DIR')
  .action(async (file) => (await import('./cli/restore.ts')).restoreBackup(file))

program
  .command('copy')
  .description(
    'copy everything from SQLite to PostgreSQL, or back, while no server runs; run again after an interruption',
  )
  .option('--from <url>', 'the database to copy: sqlite:<file> or postgres://…; default: DATABASE_URL')
  .option('--to <url>', 'an empty database: sqlite:<file> or postgres://…; default: DATABASE_URL')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/copy.ts')).copy(options))

program
  .command('rotate-secret')
  .description('encrypt everything in the database under a new SECRET, while the server runs')
  .option('--forget-previous', 'remove the previous secret from DATA_DIR; its cursors and links become invalid')
  .action(async (options) => (await import('./cli/rotate-secret.ts')).rotateSecret(options))

program
  .command('doctor')
  .description('check settings, database, DNS, mail, webhooks, proxy and files; exit code 1 where something fails')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/doctor.ts')).doctor(options))

program
  .command('config')
  .description('list all settings and their values')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./cli/config.ts')).printConfig(options))

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CliError)) throw error
  process.stderr.write(`${visibleLines(error.message)}\n`)
  process.exit(1)
}
