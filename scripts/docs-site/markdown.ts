import { posix } from 'node:path'
import hljs from 'highlight.js/lib/common'
import { Marked, type Tokens } from 'marked'

export type Heading = { depth: number; text: string; id: string }
/** The text below one heading, for the search. */
export type Section = { heading: string; id: string; text: string }
export type Rendered = {
  title: string
  lead: string
  html: string
  headings: Heading[]
  sections: Section[]
  /** Links to what the site does not have. They are shown as text, and a test fails. */
  broken: string[]
}

type Links = {
  /** The address of the site for a file of the project; undefined where the site does not have it. */
  urlOf: (path: string) => string | undefined
  /** The addresses of a picture in light and in dark. */
  pictureOf: (path: string) => { light: string; dark: string; width: number; height: number }
}

/** A document as HTML without its title, which the page's head shows. */
export function renderMarkdown(path: string, markdown: string, links: Links): Rendered {
  const slugs = new Map<string, number>()
  const headings: Heading[] = []
  const broken: string[] = []
  const resolve = (href: string) => {
    const [file = '', hash] = href.split('#')
    const target = file === '' ? path : posix.normalize(posix.join(posix.dirname(path), file))
    const url = links.urlOf(target)
    if (url === undefined) {
      broken.push(href)
      return
    }
    return hash === undefined ? url : `${url}#${hash}`
  }
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        const id = uniqueSlug(slugs, textOf(html))
        headings.push({ depth, text: textOf(html), id })
        if (depth === 1) return ''
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${html}</a></h${depth}>\n`
      },
      code({ text, lang }) {
        // Diagrams are for readers of the files: a table beside each says the same.
        if (lang === 'mermaid') return ''
        return `<div class="code"><pre tabindex="0"><code>${highlighted(text, lang)}</code></pre></div>\n`
      },
      table(token: Tokens.Table) {
        const cells = (tag: string, row: Tokens.TableCell[]) =>
          `<tr>${row.map((cell) => `<${tag}${tag === 'th' ? ' scope="col"' : ''}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        const hasHead = token.header.some(({ text }) => text !== '')
        const head = hasHead
          ? `<thead>${cells('th', token.header).replaceAll('<th scope="col"></th>', '<td></td>')}</thead>`
          : ''
        const body = token.rows.map((row) => cells('td', row)).join('\n')
        return `<div class="table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens)
        if (/^(https?|mailto):/.test(href)) return `<a href="${escapeHtml(href)}" rel="noreferrer">${html}</a>`
        // Of the server itself: the API reference, the dashboard.
        if (href.startsWith('/')) return `<a href="${escapeHtml(href)}">${html}</a>`
        const url = resolve(href)
        return url === undefined ? html : `<a href="${escapeHtml(url)}">${html}</a>`
      },
      image({ href, text }) {
        const { light, dark, width, height } = links.pictureOf(posix.join(posix.dirname(path), href))
        const size = `width="${width}" height="${height}" loading="lazy" alt="${escapeHtml(text)}"`
        return `<img class="only-light" src="${light}" ${size}><img class="only-dark" src="${dark}" ${size}>`
      },
    },
  })
  const html = marked.parse(withoutComments(markdown), { async: false })
  const [title] = headings
  if (title?.depth !== 1) throw new Error(`${path} does not begin with its title.`)
  return {
    title: title.text,
    lead: leadOf(html),
    html,
    headings: headings.slice(1),
    sections: sectionsOf(html),
    broken,
  }
}

/** As GitHub makes them, so that an anchor works in both places. */
function uniqueSlug(used: Map<string, number>, text: string): string {
  const slug = text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
  const count = used.get(slug) ?? 0
  used.set(slug, count + 1)
  return count === 0 ? slug : `${slug}-${count}`
}

function highlighted(text: string, lang = ''): string {
  const language = { sh: 'bash', js: 'javascript', ts: 'typescript' }[lang] ?? lang
  if (!hljs.getLanguage(language)) return escapeHtml(text)
  return hljs.highlight(text, { language }).value
}

const withoutComments = (markdown: string) => markdown.replaceAll(/^<!--.*?-->\n?/gm, '')

/** The first paragraph, in plain text. */
function leadOf(html: string): string {
  const [, first = ''] = /<p>(.*?)<\/p>/s.exec(html) ?? []
  return textOf(first)
}

function sectionsOf(html: string): Section[] {
  const [top = '', ...rest] = html.split(/(?=<h[23] id=)/)
  const below = rest.map((part) => {
    const [, id = '', heading = '', text = ''] = /^<h[23] id="([^"]*)">(.*?)<\/h[23]>(.*)$/s.exec(part) ?? []
    return { heading: textOf(heading), id, text: textOf(text) }
  })
  return [{ heading: '', id: '', text: textOf(top) }, ...below]
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" }

function textOf(html: string): string {
  return html
    .replaceAll(/<\/(?:td|th|p|li|pre|h\d)>/g, ' ')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&(#?\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole)
    .replaceAll(/\s+/g, ' ')
    .trim()
}

export const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
