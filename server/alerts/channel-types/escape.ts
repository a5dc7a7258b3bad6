/**
 * One function for each medium. Titles, texts and facts contain DNS data that anyone may have written, and it must not become a
 * mention, a link, an image or a tag.
 */

/** A zero-width space: a program that looks for a mention does not find it, and people see no difference. */
const BREAK = '\u200b'

/** Mentions such as `@all`. In an address such as `dmarc@example.com` the character stays alone, so that it can be copied. */
const breakMentions = (text: string): string => text.replace(/(?<!\w)@/g, `@${BREAK}`)

/** Markdown with backslash escapes: Discord, Teams, Mattermost. */
export const escapeMarkdown = (text: string): string => breakMentions(text.replace(/[\\[\]*_`~|<>]/g, '\\$&'))

/** HTML of mail, Telegram, Matrix and the cards of Google Chat. */
export const escapeHtml = (text: string): string => breakMentions(escapeEntities(text)).replaceAll('"', '&quot;')

/** Slack's own format, which reserves these three characters and needs them for mentions and links. */
export const escapeEntities = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * Media that format text and have no escape character, or that some programs format: the text of Google Chat (`<users/all>`,
 * `[label](url)`), of Opsgenie (HTML), and the plain body of Matrix.
 */
export const breakMarkup = (text: string): string => breakMentions(text).replace(/<|\](?=\()/g, `$&${BREAK}`)
