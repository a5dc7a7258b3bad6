#!/usr/bin/env node
import { Command, Option } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { check } from './commands/check.ts'
import { printConfig } from './commands/config.ts'
import { createKey, printKeys, revoke } from './commands/keys.ts'
import { withDatabase } from './commands/open.ts'
import { assignPlan } from './commands/plan.ts'
import { serve } from './commands/serve.ts'
import { setup } from './commands/setup.ts'
import { Failure } from './failure.ts'

const program = new Command('zonewatch')
  .description(packageJson.description)
  .version(packageJson.version)
  .showHelpAfterError('(add --help to see what is possible)')

program.command('serve').description('start the server: API, checks and deliveries').action(serve)

program
  .command('setup')
  .description('make an organization with its owner and its first API key')
  .requiredOption('--organization <name>', 'what it is called')
  .requiredOption('--email <address>', "the owner's e-mail address")
  .requiredOption('--password <text>', "the owner's password, at least 8 characters")
  .option('--json', 'print JSON')
  .action(setup)

const keys = program.command('keys').description('make, list and revoke API keys')
keys
  .command('create')
  .description('make an API key; it is shown once')
  .requiredOption('--name <name>', 'what it is for')
  .addOption(new Option('--role <role>', 'what it may do').choices(['read', 'write', 'admin']).makeOptionMandatory())
  .option('--organization <slug>', 'whose it is; not needed while there is only one')
  .option('--json', 'print JSON')
  .action(createKey)
keys
  .command('list')
  .description('list API keys, live and revoked')
  .option('--organization <slug>', 'only of this one')
  .option('--json', 'print JSON')
  .action(printKeys)
keys.command('revoke <key-id>').description('end an API key; holds at once everywhere').action(revoke)

program
  .command('plan <organization> <plan>')
  .description('give an organization, named by its slug, one of the plans of PLANS without payment')
  .action(assignPlan)

program
  .command('check <name> <type> [expected...]')
  .description('check one record once and print the evidence; needs no server')
  .option('--flexible', 'match flexibly instead of exactly')
  .option('--server <ip[:port]>', 'ask this name server instead of the configured ones')
  .option('--json', 'print JSON')
  .action(check)

program
  .command('migrate')
  .description('bring the database up to date')
  .action(() => withDatabase(async () => void process.stdout.write('The database is up to date.\n')))

program
  .command('config')
  .description('list every setting and its value')
  .option('--json', 'print JSON')
  .action(printConfig)

try {
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof Failure)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
