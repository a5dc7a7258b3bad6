import { expect, test } from 'vitest'
import { givenApp } from '#server/testing/test-app.ts'
import { KINDS, renderDocuments, renderSite } from './build.ts'
import { renderMarkdown } from './markdown.ts'

const files = new Map(
  renderSite('.', { font: '/dashboard/assets/geist.woff2', mono: '/dashboard/assets/mono.woff2' }).map(
    ({ path, content }) => [path, content.toString()],
  ),
)
const pages = [...files].filter(([path]) => path.endsWith('.html'))
const fileOf = (url: string) => (url === '/docs' ? 'docs/index.html' : `${url.slice(1)}.html`)

test.each(pages)('every link of %s leads to a page and a heading of it', (_path, html) => {
  const wrong = [...html.matchAll(/href="([/#][^"]*)"/g)].filter(([, href]) => {
    const [url = '', hash] = href!.split('#')
    if (/^\/(dashboard|openapi\.json|docs\/api$)/.test(url)) return false
    const target = url === '' ? html : files.get(fileOf(url))
    return target === undefined || (hash !== undefined && !target.includes(`id="${hash}"`))
  })
  expect(wrong.map(([, href]) => href)).toEqual([])
})

test('each page has a title, a description and a link in the navigation of every page', () => {
  const navigation = files.get('docs/index.html')!
  for (const [path, html] of pages) {
    expect(html.match(/<h1>[^<]+<\/h1>/g), path).toHaveLength(1)
    expect(/<meta name="description" content="([^"]*)"/.exec(html)?.[1], path).not.toBe('')
    const [, kind = ''] = path.split('/')
    if (KINDS.includes(kind) && kind !== 'decisions') expect(navigation).toContain(`href="/${path.slice(0, -5)}"`)
  }
})

test('no document links to a file outside of the site', () => {
  const wrong = renderDocuments('.', () => '').flatMap(({ path, broken }) => broken.map((link) => `${path}: ${link}`))
  expect(wrong).toEqual([])
})

test('a link to a file outside of the site becomes text and is reported', () => {
  const links = { urlOf: () => undefined, pictureOf: () => ({ light: '', dark: '', width: 1, height: 1 }) }
  const { html, broken } = renderMarkdown('docs/a.md', '# A\n\n[b](b.md)', links)
  expect([html, broken]).toEqual(['<p>b</p>\n', ['b.md']])
})

test('anchors equal those of GitHub, with a number for repeated headings', () => {
  const links = { urlOf: () => '/docs/a', pictureOf: () => ({ light: '', dark: '', width: 1, height: 1 }) }
  const { headings } = renderMarkdown('docs/a.md', '# A\n\n## `PUT /x`: what & why\n\n## Limits\n\n## Limits\n', links)
  expect(headings.map(({ id }) => id)).toEqual(['put-x-what--why', 'limits', 'limits-1'])
})

test('the pages need no key, are revalidated by caches, and have the security headers of the dashboard', async () => {
  const { app, call } = await givenApp('sqlite')
  const { status, headers } = await call('/docs', { key: null })
  expect([status, headers['content-type'], headers['cache-control']]).toEqual([
    200,
    'text/html; charset=utf-8',
    'no-cache',
  ])
  expect(headers['content-security-policy']).toContain("script-src 'self'; style-src 'self';")
  expect(headers['x-content-type-options']).toBe('nosniff')
  const again = await app.inject({ url: '/docs', headers: { 'if-none-match': headers.etag as string } })
  expect(again.statusCode).toBe(304)
  const head = await app.inject({ method: 'HEAD', url: '/docs/reference/api' })
  expect([head.statusCode, head.body]).toEqual([200, ''])
  const packed = await app.inject({ url: '/docs/reference/api', headers: { 'accept-encoding': 'br' } })
  expect(packed.headers['content-encoding']).toBe('br')
})

test.each(['/docs/nothing', '/docs/404', '/docs/index', '/docs/reference/api.html', '/docs/a%2f..%2findex'])(
  '%s gets the page for unknown addresses',
  async (path) => {
    const { call } = await givenApp('sqlite')
    const { status, text, headers } = await call(path, { key: null })
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(text).toContain('<h1>Page not found</h1>')
  },
)
