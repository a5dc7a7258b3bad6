import { buttons, escaped, frame, type Message, oneLine, paragraph, withBreaks } from '../mail/message.ts'
import { buttonsOf } from './channels/channel.ts'
import { DATA_FACTS, type Notice, plainText } from './notice.ts'

const SUBJECT_MARKS: Record<Notice['kind'], string> = {
  failing: '[Failing] ',
  recovered: '[Recovered] ',
  summary: '',
  test: '',
}

/** An alert as a mail. */
export function mailOf(notice: Notice, unsubscribe: string): Message {
  const { kind, title, text, facts, remedy, organization } = notice
  const footer = `Sent by Zonewatch to people who receive alerts of ${organization}.`
  const rows = facts.map(
    ({ name, value }) =>
      `<tr><td class="quiet" style="${CELL};color:#5b6472;white-space:nowrap">${escaped(name)}</td>` +
      `<td style="${CELL};word-break:break-word${DATA_FACTS.has(name) ? `;${MONOSPACE}` : ''}">${withBreaks(value)}</td></tr>`,
  )
  const body = [
    paragraph(withBreaks(text)),
    `<table role="presentation" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 16px">${rows.join('')}</table>`,
    remedy === null
      ? ''
      : `<table role="presentation" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin:0 0 16px"><tr>` +
        `<td class="box" bgcolor="#f1f5f9" style="padding:12px 14px;border-radius:6px;background:#f1f5f9">` +
        `<strong>What to do:</strong> ${withBreaks(remedy)}</td></tr></table>`,
    buttons(buttonsOf(notice)),
  ]
  const preview = [text, ...facts.map(({ name, value }) => `${name}: ${value}`)].join(' ')
  const framed = { title, preview, body: body.join(''), footer, unsubscribe }
  return {
    subject: oneLine(`${SUBJECT_MARKS[kind]}${title}`).slice(0, 200),
    text: `${title}\n\n${plainText(notice)}${acknowledgeText(notice)}\n\n--\n${footer}\nUnsubscribe: ${unsubscribe}\n`,
    html: frame({ ...framed, kind: kind === 'failing' || kind === 'recovered' ? kind : 'notice' }),
  }
}

const acknowledgeText = ({ acknowledge }: Notice): string =>
  acknowledge === null ? '' : `\n\nAcknowledge:\n${acknowledge}`

const CELL = 'padding:3px 14px 3px 0;font-size:14px;vertical-align:top'
const MONOSPACE = 'font-family:Consolas,Menlo,monospace'
