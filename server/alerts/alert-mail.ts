import { buttons, escapeHtml, frame, type Message, paragraph, withBreaks } from '../mail/mail-message.ts'
import { oneLine, truncate } from '../text.ts'
import { type AlertMessage, DATA_FACTS, messageLinks, plainText } from './alert-message.ts'

const SUBJECT_PREFIXES: Record<AlertMessage['kind'], string> = {
  failing: '[Failing] ',
  recovered: '[Recovered] ',
  information: '',
  summary: '',
  test: '',
}

export function mailOf(message: AlertMessage, unsubscribeUrl: string): Message {
  const { kind, title, text, facts, remedy, organization, acknowledge } = message
  const footer = `Sent by Zonewatch to people who receive alerts of ${organization}.`
  const rows = facts.map(
    ({ name, value }) =>
      `<tr><td class="quiet" style="${CELL};color:#5b6472;white-space:nowrap">${escapeHtml(name)}</td>` +
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
    buttons(messageLinks(message)),
  ].join('')
  const preview = [text, ...facts.map(({ name, value }) => `${name}: ${value}`)].join(' ')
  const acknowledgeText = acknowledge === null ? '' : `\n\nAcknowledge:\n${acknowledge}`
  return {
    subject: truncate(oneLine(`${SUBJECT_PREFIXES[kind]}${title}`), 200),
    text: `${title}\n\n${plainText(message)}${acknowledgeText}\n\n--\n${footer}\nUnsubscribe: ${unsubscribeUrl}\n`,
    html: frame({
      title,
      preview,
      body,
      footer,
      unsubscribe: unsubscribeUrl,
      kind: kind === 'failing' || kind === 'recovered' ? kind : 'notice',
    }),
  }
}

const CELL = 'padding:3px 14px 3px 0;font-size:14px;vertical-align:top'
const MONOSPACE = 'font-family:Consolas,Menlo,monospace'
