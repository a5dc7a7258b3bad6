/**
 * One function for each medium. Titles, texts and facts contain DNS data that anyone may have written, and it must not become a
 * mention, a link, an image or a tag.
 */

/** A zero-width space: a program that looks for a mention or a URL does not find it, and people see no difference. */
const BREAK = '\u200b'

/** Mentions such as `@all`, and URLs. Addresses such as `dmarc@example.com` and the names of monitors stay as they are, so that they can be copied. */
const breakLinks = (text: string): string => text.replace(/(?<!\w)@|:(?=\/\/)/g, `$&${BREAK}`)

/** Markdown with backslash escapes: Discord, Teams, Mattermost. */
export const escapeMarkdown = (text: string): string => breakLinks(text.replace(/[\\[\]*_`~|<>]/g, '\\$&'))

/** For the text of Mattermost, which links a host that begins with `www.`. The escaped dot is shown and copied as it is. */
export const escapeHosts = (markdown: string): string => markdown.replace(/(?<=\bwww)\./gi, '\\.')

/** HTML of mail, Telegram, Matrix and the cards of Google Chat. */
export const escapeHtml = (text: string): string => breakLinks(escapeAttribute(text))

/** For our own links in HTML. */
export const escapeAttribute = (text: string): string => escapeEntities(text).replaceAll('"', '&quot;')

/** Slack's own format, which reserves three characters and needs them for mentions and links. */
export const escapeSlack = (text: string): string => breakLinks(escapeEntities(text))

/** Also for code in Slack, in which it links nothing. */
export const escapeEntities = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/**
 * Media that format text and have no escape character, or that some programs format: the text of Google Chat (`<users/all>`,
 * `[label](url)`), of Opsgenie (HTML), and the plain body of Matrix.
 */
export const breakMarkup = (text: string): string => breakLinks(text).replace(/<|\](?=\()/g, `$&${BREAK}`)
