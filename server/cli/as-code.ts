import { createInterface } from 'node:readline/promises'
import { visibleLines } from '#contract/visible-text.ts'
import { type Api, asCliError, connect } from '../as-code/api.ts'
import { applyPlan } from '../as-code/apply.ts'
import type { Declared } from '../as-code/declared.ts'
import { type Organization, readOrganization } from '../as-code/organization.ts'
import { newPlan, type Plan, type PlanOptions } from '../as-code/plan.ts'
import { countsOf, planJson, planText } from '../as-code/plan-text.ts'
import { readFiles } from '../as-code/read-files.ts'
import { filesOf, writeFiles } from '../as-code/write-files.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { clientEnvironment } from '../config/config.ts'
import { print, printJson } from './arguments.ts'

export const DEFAULT_FOLDER = 'zonewatch'

type PlanFlags = { adopt?: boolean; sendSecrets?: boolean; json?: boolean }

/** `zonewatch pull`: writes everything of the organization into a folder. */
export async function pull(folder = DEFAULT_FOLDER, { force = false }: { force?: boolean }): Promise<void> {
  const organization = await readOrganization(server()).catch(throwForPeople)
  const files = filesOf(organization)
  writeFiles(folder, files, force)
  print(
    `${folder} has ${organization.monitors.length} monitors in ${files.size} files. Compare with: zonewatch plan ${folder}`,
  )
}

/** `zonewatch plan`. Exit code 0: nothing to do, 2: changes. */
export async function printPlan(paths: string[], flags: PlanFlags): Promise<void> {
  const { plan, declared } = await readPlan(paths, flags)
  if (flags.json) printJson({ ...planJson(plan), unset: declared.missing })
  else print([planText(plan), ...unsetNotes(declared)].join('\n'))
  if (plan.changes.length > 0) process.exitCode = 2
}

/** `zonewatch apply`: shows the plan, asks, and makes its changes. */
export async function apply(
  paths: string[],
  { yes = false, maxDeletions, ...flags }: PlanFlags & { yes?: boolean; maxDeletions: string },
): Promise<void> {
  const { api, plan, declared, organization, options } = await readPlan(paths, flags)
  if (declared.missing.length > 0)
    throw new CliError(`Set these variables, which the files name: ${declared.missing.join(', ')}. Nothing is changed.`)
  if (!flags.json) print(planText(plan))
  const counts = countsOf(plan)
  if (!/^[0-9]{1,9}$/.test(maxDeletions)) throw new CliError('--max-deletions must be a number.')
  if (counts.delete > Number(maxDeletions))
    throw new CliError(
      `${counts.delete} would be deleted, more than --max-deletions ${maxDeletions} allows. Nothing is changed.`,
    )
  if (plan.changes.length > 0) {
    if (!yes) await ask(counts.delete)
    await interruptible((signal) => applyPlan(api, { declared, organization, plan, options }, progress, signal))
  }
  if (flags.json) printJson(planJson(plan))
  else if (plan.changes.length > 0)
    print(`Done: ${counts.create} created, ${counts.update} changed, ${counts.delete} deleted.`)
}

const server = (): Api =>
  connect(clientEnvironment(), (seconds) => tell(`The rate limit of the key is reached: waiting ${seconds} s.`))

type Comparison = { api: Api; plan: Plan; declared: Declared; organization: Organization; options: PlanOptions }

async function readPlan(paths: string[], { adopt = false, sendSecrets = false }: PlanFlags): Promise<Comparison> {
  const declared = readFiles(paths.length === 0 ? [DEFAULT_FOLDER] : paths, clientEnvironment())
  const api = server()
  const zones = declared.items.some(({ kind }) => kind === 'zones')
  const organization = await readOrganization(api, { zones }).catch(throwForPeople)
  const options = { adopt, sendSecrets, now: systemClock.now() }
  const plan = newPlan(declared, organization, options)
  if (plan.conflicts.length > 0) throw new CliError(plan.conflicts.slice(0, 50).join('\n'))
  return { api, plan, declared, organization, options }
}

const unsetNotes = ({ missing }: Declared): string[] =>
  missing.length === 0 ? [] : [`These variables are not set, so their values were not compared: ${missing.join(', ')}.`]

async function ask(deletions: number): Promise<void> {
  if (!process.stdin.isTTY)
    throw new CliError('Add --yes to make these changes without a question. Nothing is changed.')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const what = deletions === 0 ? 'Make these changes?' : `Make these changes, with ${deletions} deletions?`
  const answer = await terminal.question(`${what} [y/N] `)
  terminal.close()
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CliError('Nothing is changed.')
}

/** Ctrl-C ends the request in progress. */
async function interruptible(run: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController()
  const interrupt = () => stop.abort(new CliError('Interrupted. What was reported is done; the next apply continues.'))
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, interrupt)
  await run(stop.signal).catch((error) => throwForPeople(stop.signal.aborted ? stop.signal.reason : error))
}

const progress = (done: number, total: number, what: string) => tell(`${done} of ${total}: ${what}`)

/** What happens goes to standard error, so that standard output is the plan alone. */
const tell = (text: string) => {
  process.stderr.write(`${visibleLines(text)}\n`)
}

const throwForPeople = (error: unknown): never => {
  throw asCliError(error)
}
