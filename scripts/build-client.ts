import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const TOOLS = 'e2e/api/client/node_modules/.bin'
const SOURCES = ['client.ts', 'send.ts', 'error.ts', 'webhook.ts']
const OPTIONS =
  '--declaration --strict --exactOptionalPropertyTypes --skipLibCheck --verbatimModuleSyntax --module nodenext --target es2022 --lib es2023,dom,dom.iterable'

type Document = { paths: Record<string, Record<string, { operationId?: string }>> }

/**
 * Builds the package `@zonewatch/client`: the sources of `client/`, with the types and operations of an OpenAPI document.
 *
 * @param document the content of `openapi.json`
 * @param target the folder of the package, which is created
 */
export function buildClient(document: string, target: string): void {
  mkdirSync(target, { recursive: true })
  const sources = mkdtempSync(join(tmpdir(), 'zonewatch-client-sources-'))
  try {
    writeFileSync(join(sources, 'package.json'), '{"type": "module"}\n')
    writeFileSync(join(sources, 'openapi.json'), document)
    // The names that the built files import, also in declarations, where the compiler would leave `.ts`.
    const writeSource = (name: string, code: string) =>
      writeFileSync(join(sources, name), code.replaceAll(/(?<=from '\.\/\w+)\.ts'/g, ".js'"))
    const types = join(sources, 'types')
    run('openapi-ts', ['-i', join(sources, 'openapi.json'), '-o', types, '-p', '@hey-api/typescript'])
    copyFileSync(join(types, 'types.gen.ts'), join(sources, 'types.ts'))
    for (const name of SOURCES) writeSource(name, readFileSync(join('client', name), 'utf8'))
    writeSource('index.ts', indexOf(JSON.parse(document) as Document))
    run('tsc', [...OPTIONS.split(' '), '--outDir', join(target, 'build'), join(sources, 'index.ts')])
    for (const name of ['package.json', 'README.md']) copyFileSync(join('client', name), join(target, name))
  } finally {
    rmSync(sources, { recursive: true })
  }
}

function run(tool: string, args: readonly string[]): void {
  execFileSync(`${TOOLS}/${tool}`, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

function indexOf({ paths }: Document): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId }]) =>
      operationId === undefined
        ? []
        : [{ name: operationId, route: method === 'get' ? path : `${path} ${method.toUpperCase()}` }],
    ),
  )
  const typeOf = (name: string) => `T.${name[0]!.toUpperCase()}${name.slice(1)}`
  return `
import { clientOf, type ClientOf } from './client.ts'
import type { ClientOptions } from './send.ts'
import type * as T from './types.ts'
import { type VerifiedRequest, verifyWebhook as verify, type WebhookInput } from './webhook.ts'

export type * from './types.ts'
export { WaitTimeoutError, ZonewatchError } from './error.ts'
export { type ClientOptions, etagOf, type RequestOptions } from './send.ts'
export { type VerifiedRequest, WebhookError, type WebhookInput } from './webhook.ts'

/** What each operation of the API takes and returns. */
export type Operations = {
${operations.map(({ name }) => `  ${name}: { input: ${typeOf(name)}Data; output: ${typeOf(name)}Response }`).join('\n')}
}

const ROUTES: Record<keyof Operations, string> = {
${operations.map(({ name, route }) => `  ${name}: '${route}',`).join('\n')}
}

export type Zonewatch = ClientOf<Operations>

/** Has a function for each operation of the API, under its operation id. */
export const createClient = (options: ClientOptions): Zonewatch => clientOf<Operations>(ROUTES, options)

/**
 * Verifies a request of a webhook, and returns its events. Rejects with a \`WebhookError\` where it is not from Zonewatch or too old.
 * The \`id\` of the request is the same on every attempt: handle each once.
 */
export const verifyWebhook = (input: WebhookInput): Promise<VerifiedRequest<Omit<T.Delivery, 'id' | 'webhook_id' | 'created'>>> =>
  verify(input)
`
}

if (import.meta.main) {
  const [, , url = 'http://localhost:8080', target = 'client'] = process.argv
  buildClient(await (await fetch(`${url}/openapi.json`)).text(), target)
}
