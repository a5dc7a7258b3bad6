import { visibleLines } from '#contract/visible-text.ts'
import { oneLine, truncate } from '../text.ts'

/** A paragraph, or a link as a button. */
export type Block = string | { label: string; href: string }
export type Message = { subject: string; text: string; html: string }

/** Stands where mail programs must not see a URL, until hidden characters are shown; then it is a zero-width space. Of the private use area. */
const LINK_BREAK = '\ue000'

/** Mail programs link URLs and host names in texts that somebody else wrote. */
export const withoutLinks = (text: string): string => text.replace(/:(?=\/\/)|(?<=\w)\.(?=\w)/g, `$&${LINK_BREAK}`)

/** A message as text and HTML. Escapes the blocks. `unsubscribe`: the link for the end. */
export function newMessage(subject: string, blocks: readonly Block[], unsubscribe?: string): Message {
  const text = blocks.map((block) => (typeof block === 'string' ? block : `${block.label}:\n${block.href}`))
  const first = blocks.findIndex((block) => typeof block !== 'string')
  const html = blocks.map((block, index) =>
    typeof block === 'string' ? paragraph(withBreaks(block)) : buttons([block], index === first),
  )
  const preview = blocks.find((block) => typeof block === 'string') ?? ''
  const message = {
    subject: truncate(oneLine(subject), 200),
    text: `${visibleLines(text.join('\n\n'))}\n${unsubscribe === undefined ? '' : `\n--\nUnsubscribe: ${unsubscribe}\n`}`,
    html: frame({
      title: subject,
      preview,
      kind: 'plain',
      body: html.join(''),
      footer: 'Sent by Zonewatch.',
      ...(unsubscribe === undefined ? {} : { unsubscribe }),
    }),
  }
  const broken = Object.entries(message).map(([part, text]) => [part, text.replaceAll(LINK_BREAK, '\u200b')])
  return Object.fromEntries(broken) as Message
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/** Escapes the text, converts its line breaks and shows hidden characters. */
export const withBreaks = (text: string): string => escapeHtml(visibleLines(text)).replaceAll('\n', '<br>')

/** `html` must be escaped. */
export const paragraph = (html: string): string => `<p style="margin:0 0 16px">${html}</p>`

/** Buttons side by side. The padding is there twice, because Outlook reads only that of cells. */
export function buttons(links: readonly { label: string; href: string }[], isFirstFilled = true): string {
  const cells = links.map(({ label, href }, index) => {
    const isFilled = index === 0 && isFirstFilled
    const style = isFilled ? 'background:#2563a8;color:#ffffff' : 'background:#ffffff;color:#2563a8'
    return (
      `<td ${isFilled ? 'class="filled" bgcolor="#2563a8"' : 'class="plain" bgcolor="#ffffff"'} align="center" ` +
      `style="border:1px solid #2563a8;border-radius:6px;mso-padding-alt:10px 14px;white-space:nowrap">` +
      `<a ${isFilled ? 'class="filled"' : 'class="plain"'} href="${escapeHtml(href)}" style="display:inline-block;padding:10px 14px;${style};` +
      `font-size:15px;line-height:20px;font-weight:600;text-decoration:none;border-radius:6px">${escapeHtml(label)}</a></td>`
    )
  })
  const rows = cells.join('<td style="width:8px;font-size:1px">&#160;</td>')
  return `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:4px 0 20px"><tr>${rows}</tr></table>`
}

/** `plain` has no state to show. */
export type MailKind = 'failing' | 'recovered' | 'notice' | 'plain'

const ACCENTS: Record<Exclude<MailKind, 'plain'>, { color: string; word: string | null }> = {
  failing: { color: '#c0262d', word: 'Failing' },
  recovered: { color: '#1a7f45', word: 'Recovered' },
  notice: { color: '#2563a8', word: null },
}

/** Colors for mail programs that support dark mode. Others show or invert the colors in `style`. */
const DARK = [
  ['.page', 'background:#0f1115!important'],
  [
    '.card',
    'background:#1a1d23!important;color:#e5e7eb!important;border-right-color:#343a44!important;border-bottom-color:#343a44!important;border-left-color:#343a44!important',
  ],
  ['.title', 'color:#f3f4f6!important'],
  ['.quiet,.quiet a', 'color:#a3abb8!important'],
  ['.failing', 'color:#ff8a8f!important'],
  ['.recovered', 'color:#5fd38d!important'],
  ['.notice', 'color:#8fc1f5!important'],
  ['td.plain,a.plain', 'background:#1a1d23!important;color:#8fc1f5!important;border-color:#8fc1f5!important'],
  ['.box', 'background:#242932!important'],
] as const

type FrameContent = {
  title: string
  /** Shown beside the subject in lists of mails. */
  preview: string
  kind: MailKind
  /** HTML. */
  body: string
  footer: string
  unsubscribe?: string
}

/** Tables and inline styles, because Outlook supports nothing else. At most 600 pixels wide, in Outlook by an additional table. */
export function frame({ title, preview, kind, body, footer, unsubscribe }: FrameContent): string {
  const rules = (prefix: string) =>
    DARK.map(([names, look]) => `${names.replaceAll(/(^|,)/g, `$1${prefix}`)}{${look}}`).join('')
  const accent = kind === 'plain' ? undefined : ACCENTS[kind]
  const color = accent?.color ?? '#2563a8'
  const end =
    unsubscribe === undefined ? '' : ` <a href="${escapeHtml(unsubscribe)}" style="color:#5b6472">Unsubscribe</a>`
  const word = accent?.word ?? null
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
    '<meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">',
    `<title>${escapeHtml(oneLine(title))}</title><style>:root{color-scheme:light dark}`,
    // The Outlook apps set data-ogsc in dark mode.
    `@media (prefers-color-scheme:dark){${rules('')}}${rules('[data-ogsc] ')}@media (max-width:480px){.card{padding:18px 16px 4px!important}}</style></head>`,
    '<body class="page" style="margin:0;padding:0;background:#f3f4f6">',
    `<div style="display:none;max-height:0;overflow:hidden;opacity:0">${escapeHtml(truncate(oneLine(preview), 200))}${'&#847;&#160;'.repeat(60)}</div>`,
    '<table role="presentation" class="page" width="100%" cellpadding="0" cellspacing="0" border="0" bgcolor="#f3f4f6">',
    '<tr><td align="center" style="padding:24px 12px"><!--[if mso]><table role="presentation" width="600"><tr><td><![endif]-->',
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="max-width:600px">',
    `<tr><td class="card" bgcolor="#ffffff" style="${FONT};font-size:15px;line-height:1.5;color:#1f2937;background:#ffffff;`,
    `text-align:left;border:1px solid #dfe3e8;border-top:4px solid ${color};border-radius:8px;padding:24px 24px 8px">`,
    word === null
      ? ''
      : `<p class="${kind}" style="margin:0 0 4px;font-size:13px;font-weight:600;color:${color}">${word}</p>`,
    `<h1 class="title" style="margin:0 0 12px;font-size:20px;line-height:1.3;color:#111827;word-break:break-word">${escapeHtml(oneLine(title))}</h1>`,
    `${body}</td></tr><tr><td class="quiet" style="${FONT};font-size:12px;line-height:1.5;color:#5b6472;`,
    `text-align:left;padding:12px 24px">${escapeHtml(oneLine(footer))}${end}</td></tr></table>`,
    '<!--[if mso]></td></tr></table><![endif]--></td></tr></table></body></html>\n',
  ].join('')
}

const FONT = 'font-family:Segoe UI,-apple-system,BlinkMacSystemFont,Helvetica,Arial,sans-serif'
