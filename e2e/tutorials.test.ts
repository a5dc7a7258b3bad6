import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { QuestionType } from '#server/dns/outcome.ts'
import { freePort, NPM_START, PROJECT, type ServerProcess, type Settings } from '#server/testing/server-process.ts'
import {
  ADMIN,
  ADMIN_KEY,
  eventually,
  givenEnvironment,
  givenFolder,
  givenServer,
} from '#server/testing/test-server.ts'

/**
 * Runs every shell block of the tutorials in order, with a real server and a DNS server on loopback. A json or text block is
 * the output of the block before it, or of the receiver. Comments set up what the reader already has, and change the DNS.
 */
test.each(globSync('docs/tutorials/*.md').filter((path) => readFileSync(path, 'utf8').includes('```sh')))(
  'the commands and outputs of %s are correct',
  async (path) => {
    const reader = await givenReader()
    for (const step of stepsOf(readFileSync(path, 'utf8'))) await reader.take(step)
  },
)

/** The beginnings of guide blocks that cannot run here, with the reason. */
const NOT_RUN: Record<string, string> = {
  'npm ci': 'installs the project, which runs this test',
  'npm run package': 'e2e/package.test.ts builds and starts the package',
  'docker compose': 'needs Docker; npm run test:image runs it with Podman',
  'podman network create': 'needs Podman; npm run test:image runs it',
  'apt-get install npm': 'needs root and systemd; npm run test:image starts the unit',
  'systemctl stop': 'needs root and systemd; npm run test:image runs it',
  'DATA_DIR=./restored': 'names a backup of another day; e2e/backup.test.ts restores one',
  'NAME=n1': 'needs root and three machines; npm run test:image runs it on three',
  'HOST=10.0.0.21': 'lists the settings of one of several nodes, which e2e/rolling-upgrade.test.ts starts',
  'ADDRESS=10.0.0.32': 'needs root and two machines; npm run test:image runs it on two',
  'apt-get install haproxy': 'needs root and the cluster of the block before it; npm run test:image runs it',
  'apt-get install prometheus': 'needs root; npm run test:interop runs Prometheus with these files',
  'cp deploy/postgres-cluster/zonewatch-dump': 'needs root and systemd; npm run test:image runs it',
  'install -d -m 700 -o postgres': 'needs the cluster of the blocks before it; npm run test:image runs it',
  "sed -i 's/archive_mode": 'needs the cluster of the blocks before it; npm run test:image runs it',
  'patronictl -c': 'needs the cluster of the blocks before it; npm run test:image runs it',
  'psql -h': 'needs the cluster of the blocks before it; npm run test:image runs it',
  'npm run -s zonewatch -- doctor': 'finds that the addresses of the guides are made up; e2e/doctor.test.ts runs it',
  pg_dump: "needs PostgreSQL's programs; npm run test:interop backs up with them",
  'npm run zonewatch -- record-backup': 'names a dump of PostgreSQL; server/doctor/postgres.test.ts records one',
  'npm run zonewatch -- copy': 'needs an empty PostgreSQL and a stopped server; e2e/copy.test.ts copies both ways',
  createdb: "needs PostgreSQL's programs; npm run test:interop restores with them",
  'curl -H "X-Api-Key: $ZONEWATCH_KEY" -H \'Content-Type: application/json\' http://localhost:8080/planned-changes':
    'its period is in the past some day; server/planned-changes/planned-changes.test.ts plans changes',
  'curl -H "X-Api-Key: $ZONEWATCH_KEY" -H \'Content-Type: application/json\' http://localhost:8080/jobs \\':
    'its period is in the past some day; server/jobs/planned-changes.test.ts plans such a job',
  'npm run zonewatch -- keys limits': 'names a key of another installation; e2e/command-line.test.ts sets limits',
  'npm run -s zonewatch -- disable-two-factor':
    'names a person of another installation; e2e/command-line.test.ts turns two-factor authentication off',
  'STRIPE_SECRET_KEY=': 'lists settings; the keys are those of an account at Stripe',
}
const reasonNotToRun = ({ text }: Step) => Object.keys(NOT_RUN).find((begin) => text.startsWith(begin))

/** Runs every other shell block of the guides, one guide after the other on one server. */
test('the commands of the guides work', async () => {
  const guides = globSync('docs/guides/*.md').sort()
  const blocks = guides.map((path) => stepsOf(readFileSync(path, 'utf8')).filter(({ kind }) => kind === 'sh'))
  const notRun = blocks.flat().map(reasonNotToRun)
  expect(new Set(notRun)).toEqual(new Set([undefined, ...Object.keys(NOT_RUN)]))
  const reader = await givenReader({ hasSecretFile: true })
  await reader.take({ kind: 'server', text: '' })
  for (const shown of blocks) {
    reader.openTerminal()
    for (const step of shown) if (reasonNotToRun(step) === undefined) await reader.take(step)
  }
})

type Step = { kind: string; text: string }

/** Code blocks, and comments of the form `<!-- kind: text -->`. */
function stepsOf(markdown: string): Step[] {
  const found = markdown.matchAll(/^```(\w+)\n(.*?)^```$|^<!-- (\w+): (.*?)-->$/gms)
  return [...found].map(([, language, code = '', comment, text = '']) =>
    comment === undefined ? { kind: language!, text: code } : { kind: comment, text: text.trim() },
  )
}

/** `hasSecretFile`: secret and database are files in the data folder, as by default. */
async function givenReader({ hasSecretFile = false } = {}) {
  const { dns, settings } = await givenEnvironment('sqlite')
  const folder = await givenFolder()
  const { WEBHOOK_ALLOWED_NETWORKS: _allowedByTheReader, SECRET = '', DATABASE_URL = '', ...plain } = settings
  const ports = { server: await freePort(), receiver: await freePort(), metrics: await freePort() }
  const common: Settings = {
    ...{ ...plain, ...ADMIN, PORT: String(ports.server), BASE_URL: `http://127.0.0.1:${ports.server}` },
    ...(hasSecretFile ? {} : { SECRET, DATABASE_URL }),
  }
  const records = new Map<string, string[]>()
  let server: ServerProcess | undefined
  let received = () => ''
  let last = { script: '', stdout: '' }
  let exported: Settings = {}
  let terminal = 1
  /** Replaces the addresses and folders of the reader by those of the test. */
  const here = (script: string) =>
    script
      .replaceAll('http://localhost:8080', `http://127.0.0.1:${ports.server}`)
      .replaceAll('http://127.0.0.1:8000', `http://127.0.0.1:${ports.receiver}`)
      .replaceAll('10.0.0.5', '127.0.0.1')
      .replaceAll('9464', String(ports.metrics))
      .replaceAll('/backups/', `${folder}/`)

  const start = async (line: string, options: { command?: string[] } = {}) => {
    await server?.kill()
    server = await givenServer({ ...common, ...exported, ...settingsIn(here(line)) }, options)
  }
  const receive = async (line: string) => {
    const env = { ...process.env, ...settingsIn(line), PORT: String(ports.receiver) }
    const child = spawn(process.execPath, ['examples/receive-webhook/receive.ts'], { cwd: PROJECT, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    received = textOf(child.stdout)
    await eventually(() => fetch(`http://127.0.0.1:${ports.receiver}/`).catch(() => null), Boolean)
  }
  /** Shell variables stay defined for the next block, as in a terminal. */
  const run = async (script: string) => {
    const variables = join(folder, `variables-${terminal}`)
    const whole = `set -eu; touch ${variables}; . ${variables}; ${here(script)}\nexport -p > ${variables}`
    const env = { ZONEWATCH_KEY: ADMIN_KEY, PATH: process.env.PATH!, HOME: folder, ...common }
    const child = spawn('sh', ['-c', whole], { cwd: PROJECT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
    const [code] = await once(child, 'close')
    const said = { stdout: stdout(), stderr: stderr(), script }
    expect({ code, ...said }).toEqual({ code: 0, ...said })
    // curl exits with 0 for an HTTP error, so the body is checked.
    expect(stdout()).not.toMatch(/"error":["{]/)
    return stdout()
  }

  async function take({ kind, text }: Step): Promise<void> {
    const lines = text.trim().split('\n')
    switch (kind) {
      case 'server':
        return start(text)
      case 'receiver':
        return receive(text)
      case 'dns': {
        const [, name = '', type = '', value = ''] = /^(\S+) (\S+) (.+)$/.exec(text)!
        const values = [...(records.get(`${name} ${type}`) ?? []), value]
        records.set(`${name} ${type}`, values)
        return dns.set(name, type as QuestionType, values)
      }
      case 'sh':
        if (lines.at(-1)!.endsWith('npm start')) {
          for (const [line, name = ''] of text.matchAll(/^export (\w+)=.*$/gm))
            exported = { ...exported, [name]: await run(`${line}\nprintf %s "$${name}"`) }
          return start(lines.at(-1)!, { command: NPM_START })
        }
        if (text.includes('receive.ts')) return receive(text)
        last = { script: text, stdout: await run(text) }
        return
      case 'json': {
        // The block before it only reads, so it can be repeated until the check is finished.
        const shown = JSON.parse(text) as object
        const isShown = (stdout: string) => contains(JSON.parse(stdout), shown)
        if (!isShown(last.stdout)) await eventually(() => run(last.script), isShown)
        return
      }
      case 'text': {
        const pattern = new RegExp(lines.map((line) => line.split('…').map(RegExp.escape).join('.*')).join('\n'))
        await eventually(
          async () => received(),
          (said) => pattern.test(said),
        )
        return
      }
      default:
        throw new Error(`A tutorial has a block that no test understands: ${kind}`)
    }
  }
  /** Removes the variables of the previous guide. */
  const openTerminal = () => {
    terminal++
    exported = {}
  }
  return { take, openTerminal }
}

/** Lists must have the same length, objects at least these fields. */
function contains(given: unknown, shown: unknown): boolean {
  if (Array.isArray(shown)) {
    return Array.isArray(given) && given.length === shown.length && shown.every((each, at) => contains(given[at], each))
  }
  if (typeof shown !== 'object' || shown === null) return given === shown
  if (typeof given !== 'object' || given === null) return false
  return Object.entries(shown).every(([name, value]) => contains((given as Record<string, unknown>)[name], value))
}

const settingsIn = (line: string): Settings =>
  Object.fromEntries([...line.matchAll(/(?<=^| )([A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name!, value!]))

function textOf(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  return () => text
}
