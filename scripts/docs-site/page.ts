import { escapeHtml, type Heading } from './markdown.ts'

export type NavSection = { title: string; url: string; pages: { title: string; url: string }[] }

type Page = {
  url: string
  title: string
  /** For search engines and previews of links. */
  description: string
  html: string
  headings: Heading[]
  /** Of a kind of documentation, or of all: links as cards, and no table of contents. */
  isLanding: boolean
  /** The kind of documentation that the page belongs to. */
  section?: NavSection | undefined
  previous?: { title: string; url: string } | undefined
  next?: { title: string; url: string } | undefined
}

export type Site = { sections: NavSection[]; style: string; script: string; searchIndex: string; version: string }

const ICONS = {
  search: '<circle cx="11" cy="11" r="7"/><path d="m20 20-3.5-3.5"/>',
  menu: '<path d="M4 6h16M4 12h16M4 18h16"/>',
  close: '<path d="m6 6 12 12M18 6 6 18"/>',
  theme: '<circle cx="12" cy="12" r="8"/><path d="M12 4a8 8 0 0 1 0 16z" fill="currentColor"/>',
  right: '<path d="m9 6 6 6-6 6"/>',
  left: '<path d="m15 6-6 6 6 6"/>',
}
const icon = (name: keyof typeof ICONS) =>
  `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true">${ICONS[name]}</svg>`

const MARK = `<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M9 10.5h14L9 21.5h14"/><circle cx="23" cy="21.5" r="3.4"/></svg>`

export function renderPage(page: Page, site: Site): string {
  const title = page.url === '/docs' ? 'Zonewatch documentation' : `${page.title} · Zonewatch documentation`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeHtml(page.description)}">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="/dashboard/favicon.svg" type="image/svg+xml">
<script src="/dashboard/theme.js"></script>
<link rel="stylesheet" href="${site.style}">
<script type="module" src="${site.script}" data-index="${site.searchIndex}"></script>
</head>
<body>
<a class="skip" href="#site-content">Skip to content</a>
<header>
<button class="plain phone" type="button" popovertarget="site-pages" aria-label="Pages">${icon('menu')}</button>
<a class="brand" href="/docs">${MARK}<span>Zonewatch</span> <span class="faint">Docs</span></a>
<button class="search scripted" type="button" id="site-open-search">${icon('search')}<span>Search</span><kbd>Ctrl K</kbd></button>
<nav aria-label="Site" class="links"><a href="/docs/api">API reference</a><a href="/dashboard">Dashboard</a></nav>
<button class="plain scripted" type="button" id="site-theme" aria-label="Switch between light and dark">${icon('theme')}</button>
</header>
<div class="columns">
${navigation(page, site)}
<main id="site-content" tabindex="-1">
<article${page.isLanding ? ' class="landing"' : ''}>
${page.section && page.section.url !== page.url ? `<p class="kind"><a href="${page.section.url}">${escapeHtml(page.section.title)}</a></p>\n` : ''}<h1>${escapeHtml(page.title)}</h1>
${page.html}</article>
${neighbours(page)}
<footer><p>Zonewatch ${escapeHtml(site.version)} · <a href="/docs/api">API reference</a> · <a href="/openapi.json">openapi.json</a> · <a href="/dashboard">Dashboard</a></p></footer>
</main>
${contents(page)}
</div>
<dialog id="site-search" aria-label="Search the documentation">
<div class="query">${icon('search')}<input type="text" role="combobox" aria-expanded="true" aria-controls="site-results" aria-autocomplete="list" aria-label="Search the documentation" placeholder="Search the documentation" autocomplete="off" spellcheck="false"><button class="plain" type="button" aria-label="Close">${icon('close')}</button></div>
<div id="site-results" role="listbox" aria-label="Results"></div>
<p id="site-found" role="status"></p>
</dialog>
</body>
</html>
`
}

function navigation(page: Page, { sections }: Site): string {
  const current = (url: string) => (url === page.url ? ' aria-current="page"' : '')
  // The decisions are many, and for few readers: they are listed on their own pages only.
  const shown = sections.map((each) =>
    each.url.endsWith('/decisions') && page.section !== each ? { ...each, pages: [] } : each,
  )
  const parts = shown.map(
    ({ title, url, pages }) =>
      `<p><a href="${url}"${current(url)}>${escapeHtml(title)}</a></p>
<ul>${pages.map((each) => `<li><a href="${each.url}"${current(each.url)}>${escapeHtml(each.title)}</a></li>`).join('')}</ul>`,
  )
  return `<nav id="site-pages" class="pages" aria-label="Pages" popover>
<div class="phone others"><a href="/docs/api">API reference</a><a href="/dashboard">Dashboard</a></div>
${parts.join('\n')}
</nav>`
}

function contents({ headings, isLanding }: Page): string {
  const shown = headings.filter(({ depth }) => depth <= 3)
  if (shown.length < 2 || isLanding) return '<div class="contents"></div>'
  const items = shown.map(
    ({ depth, id, text }) => `<li class="depth-${depth}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>${items.join('')}</ul></nav>`
}

function neighbours({ previous, next }: Page): string {
  if (!previous && !next) return ''
  const link = (to: { title: string; url: string } | undefined, rel: 'prev' | 'next') =>
    to === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${to.url}">${rel === 'prev' ? icon('left') : ''}<span><small>${rel === 'prev' ? 'Previous' : 'Next'}</small>${escapeHtml(to.title)}</span>${rel === 'next' ? icon('right') : ''}</a>`
  return `<nav class="neighbours" aria-label="Previous and next page">${link(previous, 'prev')}${link(next, 'next')}</nav>`
}
