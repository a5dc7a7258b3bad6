import { escaped, type Message, oneLine } from '../mail/message.ts'
import { buttonsOf } from './channels/channel.ts'
import { type Notice, plainText } from './notice.ts'

/** An alert as a mail. Tables and inline styles, because Outlook reads nothing else; the colors read well on white and on black. */
export function mailOf(notice: Notice, unsubscribe: string): Message {
  const { kind, title, text, facts, remedy, organization } = notice
  const mark = kind === 'failing' ? '[Failing] ' : kind === 'recovered' ? '[Recovered] ' : ''
  const footer = `Sent by Zonewatch to people who receive alerts of ${organization}.`
  const color = kind === 'failing' ? '#c0262d' : kind === 'recovered' ? '#1a7f45' : '#2563a8'
  const rows = facts.map(
    ({ name, value }) =>
      `<tr><td style="${CELL};color:#6b7280;white-space:nowrap;vertical-align:top">${escaped(name)}</td>` +
      `<td style="${CELL};font-family:Consolas,Menlo,monospace;word-break:break-word">${broken(value)}</td></tr>`,
  )
  const html = [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">',
    '<meta name="supported-color-schemes" content="light dark"><meta name="viewport" content="width=device-width">',
    `<title>${escaped(oneLine(title))}</title></head>`,
    `<body style="margin:0;padding:16px;font-family:Segoe UI,Helvetica,Arial,sans-serif;font-size:15px;line-height:1.5">`,
    '<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:600px"><tr>',
    `<td style="border-left:4px solid ${color};padding:0 0 0 16px">`,
    `<h1 style="margin:0 0 8px;font-size:20px;line-height:1.3;color:${color}">${escaped(title)}</h1>`,
    `<p style="margin:0 0 12px">${broken(text)}</p>`,
    `<table role="presentation" cellpadding="0" cellspacing="0" style="margin:0 0 12px">${rows.join('')}</table>`,
    remedy === null ? '' : `<p style="margin:0 0 16px"><strong>What to do:</strong> ${broken(remedy)}</p>`,
    `<p style="margin:0 0 16px">${buttonsOf(notice).map(button).join(' ')}</p>`,
    `<p style="margin:0;font-size:12px;color:#6b7280">${escaped(footer)} `,
    `<a href="${escaped(unsubscribe)}" style="color:#6b7280">Unsubscribe</a></p>`,
    '</td></tr></table></body></html>\n',
  ]
  return {
    subject: oneLine(`${mark}${title}`).slice(0, 200),
    text: `${title}\n\n${plainText(notice)}${acknowledgeText(notice)}\n\n--\n${footer}\nUnsubscribe: ${unsubscribe}\n`,
    html: html.join(''),
  }
}

/** The first one is filled, the others have a border. */
const button = ({ label, href }: Notice['link'], index: number): string =>
  `<a href="${escaped(href)}" style="display:inline-block;padding:9px 17px;margin:0 8px 8px 0;border:1px solid #2563a8;` +
  `${index === 0 ? 'background:#2563a8;color:#ffffff' : 'color:#2f7fd6'};text-decoration:none;border-radius:6px">${escaped(label)}</a>`

const acknowledgeText = ({ acknowledge }: Notice): string =>
  acknowledge === null ? '' : `\n\nAcknowledge:\n${acknowledge}`

const CELL = 'padding:2px 12px 2px 0;font-size:14px'

const broken = (text: string): string => escaped(text).replaceAll('\n', '<br>')
