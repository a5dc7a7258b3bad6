// What the pages below /docs can do with JavaScript: search, copy, switch the theme, mark the current section.

const root = document.documentElement
root.classList.add('scripted')

document.getElementById('site-theme').addEventListener('click', () => {
  const isDark = root.classList.toggle('dark')
  localStorage.setItem('zonewatch.theme', isDark ? 'dark' : 'light')
})

for (const block of document.querySelectorAll('.code')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.setAttribute('aria-live', 'polite')
  button.addEventListener('click', async () => {
    const isCopied = await copy(block.querySelector('code').textContent)
    button.textContent = isCopied ? 'Copied' : 'Select the text'
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 2_000)
  })
  block.append(button)
}

/** Without TLS there is no `navigator.clipboard`, except on localhost. */
async function copy(text) {
  if (navigator.clipboard)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  return isCopied
}

// What does not scroll is no stop of the Tab key.
const scrollers = [...document.querySelectorAll('.table, pre')]
const setStops = () => {
  for (const each of scrollers) {
    if (each.scrollWidth > each.clientWidth) each.tabIndex = 0
    else each.removeAttribute('tabindex')
  }
}
addEventListener('resize', setStops)
document.fonts.ready.then(setStops)

const entriesOfContents = new Map(
  [...document.querySelectorAll('.contents a')].map((link) => [link.getAttribute('href').slice(1), link]),
)
if (entriesOfContents.size > 0) {
  const headings = [...entriesOfContents.keys()].map((id) => document.getElementById(id))
  const markCurrent = () => {
    const current = headings.findLast((heading) => heading.getBoundingClientRect().top < 120) ?? headings[0]
    for (const [id, link] of entriesOfContents) {
      if (id === current.id) link.setAttribute('aria-current', 'location')
      else link.removeAttribute('aria-current')
    }
  }
  addEventListener('scroll', markCurrent, { passive: true })
  markCurrent()
}

document.querySelector('#site-pages [aria-current]')?.scrollIntoView({ block: 'nearest' })

const dialog = document.getElementById('site-search')
const input = dialog.querySelector('input')
const list = document.getElementById('site-results')
const status = document.getElementById('site-found')
const opener = document.getElementById('site-open-search')
const MOST_RESULTS = 20
let entries = []
let chosen = 0

const openSearch = async () => {
  dialog.showModal()
  input.select()
  if (entries.length > 0) return
  const { index } = document.querySelector('script[data-index]').dataset
  entries = (await import(index)).entries
  show()
}
opener.addEventListener('click', openSearch)
dialog.querySelector('button').addEventListener('click', () => dialog.close())
dialog.addEventListener('click', (event) => {
  if (event.target === dialog) dialog.close()
})
addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement
  const isShortcut = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isTyping)
  if (!isShortcut || dialog.open) return
  event.preventDefault()
  openSearch()
})
if (/Mac|iP/.test(navigator.platform)) opener.querySelector('kbd').textContent = '⌘K'

input.addEventListener('input', show)
input.addEventListener('keydown', (event) => {
  const steps = { ArrowDown: 1, ArrowUp: -1 }
  if (event.key in steps) {
    event.preventDefault()
    choose(chosen + steps[event.key])
  }
  if (event.key === 'Enter') list.children[chosen]?.click()
})

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []
}

/** How well a section fits: each word has to begin a word of it. Titles count most. */
function rank([, , title, heading, text], words) {
  let sum = 0
  for (const word of words) {
    const starts = new RegExp(`(?<![\\p{L}\\p{N}_])${word}`, 'giu')
    const weight = (title.search(starts) >= 0 ? 8 : 0) + (heading.search(starts) >= 0 ? 12 : 0)
    const times = text.match(starts)?.length ?? 0
    if (weight + times === 0) return 0
    sum += weight + Math.min(times, 3)
  }
  return sum + (heading ? 0 : 2)
}

function show() {
  const words = wordsOf(input.value)
  const found = words.length === 0 ? [] : entries.map((entry) => ({ entry, score: rank(entry, words) }))
  const best = found
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MOST_RESULTS)
  list.replaceChildren(...best.map(({ entry }, at) => option(entry, words, at)))
  if (words.length === 0) status.textContent = ''
  else if (best.length === 0) status.textContent = `Nothing found for “${input.value.trim()}”.`
  else
    status.textContent = `${best.length === MOST_RESULTS ? 'The best ' : ''}${best.length} ${best.length === 1 ? 'result' : 'results'}`
  choose(0)
}

function option([url, kind, title, heading, text], words, at) {
  const link = document.createElement('a')
  link.href = url
  link.id = `result-${at}`
  link.className = 'result'
  link.tabIndex = -1
  link.setAttribute('role', 'option')
  const detail = document.createElement('small')
  const first = text.search(new RegExp(`(?<![\\p{L}\\p{N}_])${words[0]}`, 'iu'))
  const from = first < 60 ? 0 : text.lastIndexOf(' ', first - 40) + 1
  detail.append(
    `${[kind, heading && title].filter(Boolean).join(' › ')}: `,
    ...marked(text.slice(from, from + 160), words),
  )
  link.append(...marked(heading || title, words), detail)
  link.addEventListener('click', () => dialog.close())
  link.addEventListener('pointermove', () => choose(at))
  return link
}

/** With the words that were searched for marked. */
function marked(text, words) {
  return text.split(new RegExp(`(?<![\\p{L}\\p{N}_])(${words.join('|')})`, 'giu')).map((part, at) => {
    if (at % 2 === 0) return part
    const mark = document.createElement('mark')
    mark.textContent = part
    return mark
  })
}

function choose(at) {
  const count = list.children.length
  chosen = count === 0 ? 0 : (at + count) % count
  for (const [place, link] of [...list.children].entries()) link.setAttribute('aria-selected', String(place === chosen))
  const link = list.children[chosen]
  link?.scrollIntoView({ block: 'nearest' })
  if (link) input.setAttribute('aria-activedescendant', link.id)
  else input.removeAttribute('aria-activedescendant')
  input.setAttribute('aria-expanded', String(count > 0))
}
