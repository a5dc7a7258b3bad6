import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { QuestionType } from '#server/dns/outcome.ts'
import { freePort, NPM_START, PROJECT, type ServerProcess, type Settings } from '#server/testing/server-process.ts'
import { ADMIN, ADMIN_KEY, eventually, givenFolder, givenServer, givenWorld } from '#server/testing/server-world.ts'

/**
 * Every shell block of the tutorials runs here, in its order, against a real server and a DNS server on loopback. A json or text
 * block says what the block before it prints, or the receiver. Comments set up what the reader has already, and change the DNS.
 */
test.each(globSync('docs/tutorials/*.md').filter((path) => readFileSync(path, 'utf8').includes('```sh')))(
  'what %s shows works',
  async (path) => {
    const reader = await givenReader()
    for (const step of stepsOf(readFileSync(path, 'utf8'))) await reader.take(step)
  },
)

type Step = { kind: string; text: string }

/** Code blocks, and comments of the form `<!-- kind: text -->`. */
function stepsOf(markdown: string): Step[] {
  const found = markdown.matchAll(/^```(\w+)\n(.*?)^```$|^<!-- (\w+): (.*?)-->$/gms)
  return [...found].map(([, language, code = '', comment, text = '']) =>
    comment === undefined ? { kind: language!, text: code } : { kind: comment, text: text.trim() },
  )
}

async function givenReader() {
  const { dns, settings } = await givenWorld('sqlite')
  const folder = await givenFolder()
  const { WEBHOOK_ALLOWED_NETWORKS: _allowedByTheReader, ...plain } = settings
  const ports = { server: await freePort(), receiver: await freePort() }
  const common: Settings = { ...plain, ...ADMIN, PORT: String(ports.server), WORKERS: '0' }
  const records = new Map<string, string[]>()
  let server: ServerProcess | undefined
  let received = () => ''
  let last = { script: '', stdout: '' }

  const start = async (line: string) => {
    await server?.kill()
    server = await givenServer({ ...common, ...settingsIn(line) }, { command: NPM_START })
  }
  const receive = async (line: string) => {
    const env = { ...process.env, ...settingsIn(line), PORT: String(ports.receiver) }
    const child = spawn(process.execPath, ['examples/receive-webhook/receive.ts'], { cwd: PROJECT, env })
    onTestFinished(() => void child.kill('SIGKILL'))
    received = textOf(child.stdout)
    await eventually(() => fetch(`http://127.0.0.1:${ports.receiver}/`).catch(() => null), Boolean)
  }
  /** Variables stay from one block to the next, as in one terminal. */
  const run = async (script: string) => {
    const here = script
      .replaceAll('http://localhost:8080', `http://127.0.0.1:${ports.server}`)
      .replaceAll('http://127.0.0.1:8000', `http://127.0.0.1:${ports.receiver}`)
    const variables = join(folder, 'variables')
    const whole = `set -eu; touch ${variables}; . ${variables}; ${here}\nexport -p > ${variables}`
    const env = { ZONEWATCH_KEY: ADMIN_KEY, PATH: process.env.PATH!, HOME: folder, ...common }
    const child = spawn('sh', ['-c', whole], { cwd: PROJECT, env })
    const [stdout, stderr] = [textOf(child.stdout), textOf(child.stderr)]
    const [code] = await once(child, 'close')
    expect({ code, stderr: stderr(), script }).toEqual({ code: 0, stderr: expect.any(String), script })
    // What is refused has an error in its body, which curl does not mind.
    expect(stdout()).not.toContain('"error":')
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
        if (lines.at(-1)!.endsWith('npm start')) return start(lines.at(-1)!)
        if (text.includes('receive.ts')) return receive(text)
        last = { script: text, stdout: await run(text) }
        return
      case 'json': {
        // The block before it only reads, so it can be asked again until the check has ended.
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
  return { take }
}

/** Lists have the same length, objects at least these fields. */
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
