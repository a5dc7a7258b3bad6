import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { runCommand } from '#server/testing/server-process.ts'
import { givenApp } from '#server/testing/test-app.ts'
import packageJson from '../package.json' with { type: 'json' }
import { renderMarkdown } from './docs-site/markdown.ts'
import { settingsTable, withTable } from './settings-table.ts'

const DOCUMENTS = globSync(['*.md', '{docs,examples,e2e,server}/**/*.md'], {
  exclude: (path) => path.includes('node_modules'),
})

test('docs/reference/settings.md lists every setting with its default; scripts/settings-table.ts writes it', () => {
  const document = readFileSync('docs/reference/settings.md', 'utf8')

  expect(document).toBe(withTable(document, settingsTable()))
})

test.each(DOCUMENTS)('%s links only to existing files and headings', (path) => {
  const links = [...readFileSync(path, 'utf8').matchAll(/\]\((?!https?:|mailto:|\/)([^)\s]+)\)/g)].map(
    ([, link]) => link!,
  )
  const wrong = links.filter((link) => {
    const [file = '', hash] = link.split('#')
    const target = file === '' ? path : join(dirname(path), file)
    return !existsSync(target) || (hash !== undefined && !headingsOf(target).includes(hash))
  })
  expect(wrong).toEqual([])
})

/** The anchors of a document. */
function headingsOf(path: string): string[] {
  const links = { urlOf: () => '', pictureOf: () => ({ light: '', dark: '', width: 0, height: 0 }) }
  return renderMarkdown(path, readFileSync(path, 'utf8'), links).headings.map(({ id }) => id)
}

test.each(DOCUMENTS)('%s names only existing files of the project', (path) => {
  const named = [...readFileSync(path, 'utf8').matchAll(/`((?:contract|server|scripts|docs|e2e)\/[\w./-]+\w)`/g)]

  expect(named.map(([, name]) => name!).filter((name) => !existsSync(name))).toEqual([])
})

test.each(DOCUMENTS)('%s names only scripts of package.json', (path) => {
  const named = [...readFileSync(path, 'utf8').matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => name!)

  expect(named.filter((name) => !(name in packageJson.scripts))).toEqual([])
})

test('docs/reference/api.md lists exactly the routes of the API description', async () => {
  const { call } = await givenApp('sqlite')
  const { body } = await call('/openapi.json', { key: null })
  const described = Object.entries(body.paths as Record<string, object>).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => shapeOf(`${method.toUpperCase()} ${path}`)),
  )
  const [, document = ''] = readFileSync('docs/reference/api.md', 'utf8').split('## All routes')
  const named = [...document.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`/g)].map(([, route]) => shapeOf(route!))

  const forOperators = ['GET /healthz', 'GET /readyz']
  expect(named.filter((route) => !forOperators.includes(route) && !described.includes(route))).toEqual([])
  expect(described.filter((route) => !named.includes(route))).toEqual([])
})

test('the routes that docs/reference/api.md marks as public need no key', async () => {
  const { call } = await givenApp('sqlite')
  const [, named] = /with every request\. (.*) need no key\./.exec(readFileSync('docs/reference/api.md', 'utf8'))!
  const paths = [...named!.matchAll(/`([^`]+)`/g)].map(([, path]) => path!)

  expect(paths).toHaveLength(4)
  for (const path of paths) expect([401, 404]).not.toContain((await call(path, { key: null })).status)
})

test('docs/reference/api.md names everything that takes If-Match', async () => {
  const { call } = await givenApp('sqlite')
  const { paths } = (await call('/openapi.json')).body as { paths: Record<string, object> }
  const routes = Object.keys(paths).filter((path) => JSON.stringify(paths[path]).includes('IfMatch'))
  const paragraphs = readFileSync('docs/reference/api.md', 'utf8').split('\n\n')
  const list = paragraphs
    .find((text) => text.includes('accept `If-Match`'))!
    .replaceAll('\n', ' ')
    .toLowerCase()

  expect(routes.length).toBeGreaterThan(10)
  const names = routes.map((path) => path.match(/([a-z-]+)(?:\/external)?(?:\/\{\w+\})?$/)![1]!.replace('-', ' '))
  expect(names.filter((name) => !list.includes(name))).toEqual([])
})

/** What a parameter is called does not matter. */
const shapeOf = (route: string) => route.replace(/:\w+|\{\w+\}/g, '*')

test('docs/reference/cli.md lists every command', async () => {
  const commandsOf = async (...group: string[]) => {
    const { stdout } = await runCommand([...group, '--help'], {})
    const [, list = ''] = stdout.split('Commands:\n')
    return [...list.matchAll(/^ {2}([\w-]+)/gm)].map(([, name]) => [...group, name].join(' '))
  }
  const commands = [...(await commandsOf()), ...(await commandsOf('keys')), ...(await commandsOf('planned-changes'))]
  const real = commands.filter((name) => !/^keys$|^planned-changes$|help$/.test(name))
  const named = [...readFileSync('docs/reference/cli.md', 'utf8').matchAll(/^\| `([a-z][a-z -]*)` \|/gm)].map(
    ([, name]) => name!,
  )

  expect(named.toSorted()).toEqual(real.toSorted())
})
