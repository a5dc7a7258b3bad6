import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import { fastify } from 'fastify'
import { escapeHtml, type Rendered, renderMarkdown } from './markdown.ts'
import { type NavSection, renderPage, type Site } from './page.ts'

/** The kinds of documentation, in the order of the navigation. Each is a folder of docs/, and its README.md names the order. */
export const KINDS = ['tutorials', 'guides', 'reference', 'explanation', 'decisions']

export type Document = { path: string; url: string; kind: string } & Rendered
export type File = { path: string; content: string | Buffer }

const STYLES = ['article.css', 'search.css', 'frame.css'].map((name) => new URL(name, import.meta.url))
const SCRIPT = new URL('site.js', import.meta.url)

/** Writes the site into the folder of a built dashboard: pages below docs/, everything else beside the dashboard's assets. */
export async function buildDocs(folder: string, project: string): Promise<void> {
  const [font] = globSync('geist-latin-wght-normal-*.woff2', { cwd: join(folder, 'assets') })
  const [mono] = globSync('geist-mono-latin-wght-normal-*.woff2', { cwd: join(folder, 'assets') })
  if (!font || !mono) throw new Error('The dashboard was built without its fonts.')
  for (const { path, content } of renderSite(project, {
    font: `/dashboard/assets/${font}`,
    mono: `/dashboard/assets/${mono}`,
  })) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  await mkdir(join(folder, 'docs/api'), { recursive: true })
  await writeFile(join(folder, 'docs/api/reference.js'), await apiReferenceScript())
}

/** The script of Scalar's API reference. Its package offers it only through a server. */
async function apiReferenceScript(): Promise<Buffer> {
  const { default: reference } = await import('@scalar/fastify-api-reference')
  const server = fastify()
  await server.register(reference, { routePrefix: '/', configuration: { url: '/openapi.json' } })
  const { rawPayload } = await server.inject('/js/scalar.js')
  await server.close()
  return rawPayload
}

/** Every file of the site, as paths in the folder of the dashboard. */
export function renderSite(project: string, fonts: { font: string; mono: string }): File[] {
  const assets: File[] = []
  /** The name holds a digest of the content, so that browsers keep the file for a year. */
  const asset = (name: string, content: string | Buffer) => {
    const digest = createHash('sha256').update(content).digest('base64url').replaceAll(/\W/g, '').slice(0, 8)
    const path = `assets/${name.replace(/(\.\w+)$/, `-${digest}$1`)}`
    if (!assets.some((each) => each.path === path)) assets.push({ path, content })
    return `/dashboard/${path}`
  }
  const documents = renderDocuments(project, asset)
  const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { version: string }
  const sections = KINDS.map((kind) => sectionOf(kind, documents))
  const site: Site = {
    sections,
    version,
    style: asset('docs.css', styleOf(project, fonts)),
    script: asset('docs.js', readFileSync(SCRIPT, 'utf8')),
    searchIndex: asset('docs-index.js', searchIndex(documents, sections)),
  }
  const order = sections.flatMap((section) => section.pages)
  const pages = documents.map((document) => {
    const section = sections.find(({ url }) => url === `/docs/${document.kind}`)
    const isLanding = document.path.endsWith('README.md')
    const place = order.findIndex(({ url }) => url === document.url)
    const html = isLanding ? cards(document.html + unlisted(document, section), documents) : document.html
    const [previous, next] = place < 0 ? [] : [order[place - 1], order[place + 1]]
    const page = { ...document, html, isLanding, section, description: document.lead, previous, next }
    return {
      path: `${document.url.slice(1)}${document.url === '/docs' ? '/index' : ''}.html`,
      content: renderPage(page, site),
    }
  })
  const missing = {
    url: '',
    isLanding: false,
    title: 'Page not found',
    description: 'This page does not exist.',
    headings: [],
  }
  const html =
    '<p>This page does not exist. It may have moved: use the search or the list of pages.</p><p><a href="/docs">Documentation home</a></p>'
  return [...assets, ...pages, { path: 'docs/404.html', content: renderPage({ ...missing, html }, site) }]
}

/** Every Markdown file of the kinds, rendered. Recipes and whatever else lies in docs/ are for readers of the repository. */
export function renderDocuments(project: string, asset: (name: string, content: Buffer) => string): Document[] {
  const paths = globSync(['docs/README.md', ...KINDS.map((kind) => `docs/${kind}/*.md`)], { cwd: project }).sort()
  const known = new Set(paths)
  const urlOf = (path: string) => {
    const file = known.has(path) ? path : posix.join(path, 'README.md')
    return known.has(file) ? addressOf(file) : undefined
  }
  const pictureOf = (path: string) => {
    const [light, dark] = [path, path.replace('-light-', '-dark-')].map((each) => readFileSync(join(project, each)))
    const [width, height] = [light!.readUInt32BE(16), light!.readUInt32BE(20)]
    const [lightUrl, darkUrl] = [light, dark].map((content) => asset(posix.basename(path), content!))
    return { light: lightUrl!, dark: darkUrl!, width, height }
  }
  return paths.map((path) => ({
    path,
    url: addressOf(path),
    kind: posix.dirname(path).split('/')[1] ?? '',
    ...renderMarkdown(path, readFileSync(join(project, path), 'utf8'), { urlOf, pictureOf }),
  }))
}

/** `docs/guides/mail.md` is served at `/docs/guides/mail`, a README.md at its folder. */
const addressOf = (path: string) => `/${path.replace(/(?:\/README)?\.md$/, '')}`

/** The pages of a kind: those that its README.md links to in that order, then all others by title. */
function sectionOf(kind: string, documents: Document[]): NavSection {
  const url = `/docs/${kind}`
  const landing = documents.find((document) => document.url === url)
  const place = (page: { url: string }) => {
    const at = landing?.html.indexOf(`href="${page.url}"`) ?? -1
    return at < 0 ? Number.POSITIVE_INFINITY : at
  }
  const pages = documents.filter((document) => document.kind === kind && document.url !== url)
  pages.sort((a, b) => {
    const [first, second] = [place(a), place(b)]
    return first === second ? a.title.localeCompare(b.title, 'en', { numeric: true }) : first - second
  })
  return { title: landing?.title ?? kind, url, pages: pages.map(({ title, url }) => ({ title, url })) }
}

/** Links of a landing page with what the page is about: the words behind the link, or else its first paragraph. */
function cards(html: string, documents: Document[]): string {
  return html.replaceAll(
    /<li><a href="([^"]+)">(.*?)<\/a>(?:: (.*?))?<\/li>/g,
    (_item, url: string, title: string, about?: string) => {
      const lead = documents.find((document) => document.url === url)?.lead ?? ''
      return `<li class="card"><a href="${url}">${title}</a><p>${about ?? escapeHtml(lead)}</p></li>`
    },
  )
}

/** Pages that the landing page of their kind does not mention yet. */
function unlisted({ html }: Document, section: NavSection | undefined): string {
  const pages = section?.pages ?? []
  const others = pages.filter(({ url }) => !html.includes(`href="${url}"`))
  if (others.length === 0) return ''
  return `<ul>${others.map(({ title, url }) => `<li><a href="${url}">${escapeHtml(title)}</a></li>`).join('')}</ul>\n`
}

/** One entry for each section: [address, title of the page, heading, text]. Loaded when somebody searches. */
function searchIndex(documents: Document[], sections: NavSection[]): string {
  const entries = documents.flatMap(({ url, kind, title, sections: parts }) => {
    const named = sections.find((section) => section.url === `/docs/${kind}`)?.title ?? ''
    return parts.map(({ heading, id, text }) => [id === '' ? url : `${url}#${id}`, named, title, heading, text])
  })
  return `export const entries = ${JSON.stringify(entries)}\n`
}

/** With the colours of the dashboard, from its own stylesheet. */
function styleOf(project: string, { font, mono }: { font: string; mono: string }): string {
  const dashboard = readFileSync(join(project, 'dashboard/style.css'), 'utf8')
  const [colours] = /^:root \{.*?^\}\n/ms.exec(dashboard)!
  const [dark] = /^\.dark \{.*?^\}\n/ms.exec(dashboard)!
  const face = (family: string, url: string) =>
    `@font-face { font-family: "${family}"; font-weight: 100 900; font-display: swap; src: url("${url}") format("woff2"); }\n`
  return (
    face('Geist', font) +
    face('Geist Mono', mono) +
    colours +
    dark +
    STYLES.map((file) => readFileSync(file, 'utf8')).join('')
  )
}
