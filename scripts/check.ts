import { spawn } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { findBanned, findBannedInCode, findBannedInDocuments, findUnfinished } from './banned-words.ts'
import { overBudget } from './budgets.ts'
import { tooManyLevels } from './import-levels.ts'
import { importsOf, wrongImports } from './import-rule.ts'
import { findLongSentences } from './readability.ts'
import { startAndStop } from './start-and-stop.ts'
import { findUnknownNames } from './unknown-names.ts'

/** Everything that `npm run check` holds the code to. A step resolves with what is wrong, or with nothing. */
const STEPS: [name: string, run: () => Promise<string>][] = [
  ['format and lint', () => outputOfFailed('node_modules/.bin/biome', ['ci', '--colors=force', '.'])],
  ['types', () => outputOfFailed('node_modules/.bin/tsc', ['--pretty'])],
  ['types of the dashboard', () => outputOfFailed('node_modules/.bin/tsc', ['--pretty', '-p', 'dashboard'])],
  ['import rule', async () => wrongImports(sources().flatMap(({ path, text }) => importsOf(path, text))).join('\n')],
  ['levels of imports', async () => tooManyLevels(sources()).join('\n')],
  ['nothing left undone', async () => sources().flatMap(findUnfinished).join('\n')],
  ['plain words', async () => [...sources(), ...documents()].flatMap(findBanned).join('\n')],
  [
    'plain messages, labels, titles of tests and names',
    async () => sources().filter(isHeldToWords).flatMap(findBannedInCode).join('\n'),
  ],
  ['plain documents', async () => documents().flatMap(findBannedInDocuments).join('\n')],
  [
    'short sentences for newcomers',
    async () => documents().filter(isForNewcomers).flatMap(findLongSentences).join('\n'),
  ],
  [
    'names in documents and comments exist',
    async () => findUnknownNames(documents().filter(isCurrent), sources().filter(isNoExample), otherFiles()).join('\n'),
  ],
  ['weight of the dashboard', overBudget],
  ['the server starts and stops under plain node', () => startAndStop()],
]

let failed = 0
// All at the same time: the slow ones are processes of their own.
for (const [name, result] of STEPS.map(([name, run]) => [name, run().catch((error) => String(error.stack))] as const)) {
  const wrong = await result
  process.stdout.write(`${wrong ? 'FAILED' : 'ok    '}  ${name}\n`)
  if (wrong) process.stdout.write(`\n${wrong.trimEnd()}\n\n`)
  if (wrong) failed++
}
process.exit(failed === 0 ? 0 : 1)

function outputOfFailed(command: string, args: string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const output: Buffer[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code) =>
      resolve(code === 0 ? '' : Buffer.concat(output).toString() || `${command} ended with ${code}.`),
    )
  })
}

function documents(): { path: string; text: string }[] {
  return globSync(['*.md', 'client/*.md', 'docs/**/*.md']).map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}

/** The files that hold the words themselves, and those of Matrix, whose standard has rooms. */
function isHeldToWords({ path }: { path: string }): boolean {
  return !/^scripts\/banned-words|^server\/alerts\/channel-types\/(?:matrix|channel-types\.test)\.ts$/.test(path)
}

function isForNewcomers({ path }: { path: string }): boolean {
  return path === 'README.md' || path.startsWith('docs/tutorials/')
}

/** The changelog also has names of earlier versions. */
function isCurrent({ path }: { path: string }): boolean {
  return path !== 'CHANGELOG.md'
}

/** The test of unknown names has some. */
function isNoExample({ path }: { path: string }): boolean {
  return path !== 'scripts/unknown-names.test.ts'
}

/** More that documents can name: files of deployment and configuration, and scripts. */
function otherFiles(): { path: string; text: string }[] {
  const paths = globSync('**/*.{yml,yaml,json,toml,conf,sh,js,md}', {
    exclude: (path) => /node_modules|dist/.test(path),
  })
  return paths.map((path) => ({ path, text: path.endsWith('.md') ? '' : readFileSync(path, 'utf8') }))
}

function sources(): { path: string; text: string }[] {
  const paths = globSync('{client,contract,server,simulator,dashboard,e2e,bench,scripts,examples}/**/*.{ts,tsx}', {
    exclude: (path) => path.includes('node_modules'),
  })
  return paths.sort().map((path) => ({ path, text: readFileSync(path, 'utf8') }))
}
