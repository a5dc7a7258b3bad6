#!/usr/bin/env node
import { Command, Option } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { CliError } from './cli-error.ts'

/** A command loads what it needs when it runs: `keys list` has no use for the server. */
const program = new Command('zonewatch')
  .description(packageJson.description)
  .version(packageJson.version)
  .showHelpAfterError('(add --help to see what is possible)')

program
  .command('serve')
  .description('start the server: API, checks and deliveries')
  .action(async () => (await import('./commands/serve.ts')).serve())

program
  .command('process <roles>', { hidden: true })
  .description('one process of the server; started by serve')
  .action(async (roles) => (await import('./commands/run-process.ts')).runProcess(roles))

program
  .command('setup')
  .description('make an organization with its owner and its first API key')
  .requiredOption('--organization <name>', 'what it is called')
  .requiredOption('--email <address>', "the owner's e-mail address")
  .option(
    '--password <text>',
    "the owner's password, at least 8 characters; default: the first line of standard input, or a prompt",
  )
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/setup.ts')).setup(options))

const keys = program.command('keys').description('make, list and revoke API keys')
keys
  .command('create')
  .description('make an API key; it is shown once')
  .requiredOption('--name <name>', 'what it is for')
  .addOption(new Option('--role <role>', 'what it may do').choices(['read', 'write', 'admin']).makeOptionMandatory())
  .option('--organization <slug>', 'whose it is; not needed while there is only one')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/keys.ts')).createKey(options))
keys
  .command('list')
  .description('list API keys, live and revoked')
  .option('--organization <slug>', 'only of this one')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/keys.ts')).printKeys(options))
keys
  .command('revoke <key-id>')
  .description('end an API key; holds at once everywhere')
  .action(async (id) => (await import('./commands/keys.ts')).revoke(id))

program
  .command('plan <organization> <plan>')
  .description('give an organization, named by its slug, one of the plans of PLANS without payment')
  .action(async (organization, plan) => (await import('./commands/plan.ts')).assignPlan(organization, plan))

program
  .command('check <name> <type> [expected...]')
  .description('check one record once and print the evidence; needs no server')
  .option('--flexible', 'match flexibly instead of exactly')
  .option('--server <ip[:port]>', 'ask this name server instead of the configured ones')
  .option('--json', 'print JSON')
  .action(async (name, type, expected, options) =>
    (await import('./commands/check.ts')).check(name, type, expected, options),
  )

program
  .command('migrate')
  .description('bring the database up to date')
  .action(async () => (await import('./commands/migrate.ts')).migrateDatabase())

program
  .command('config')
  .description('list every setting and its value')
  .option('--json', 'print JSON')
  .action(async (options) => (await import('./commands/config.ts')).printConfig(options))

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CliError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
