/** A paragraph of text, or a link that stands alone. */
export type Block = string | { label: string; href: string }
export type Message = { subject: string; text: string; html: string }

/** One message in its two forms. What others chose (names, errors) may stand in the blocks as it is. */
export function newMessage(subject: string, blocks: readonly Block[]): Message {
  const text = blocks.map((block) => (typeof block === 'string' ? block : `${block.label}:\n${block.href}`))
  const html = blocks.map((block) =>
    typeof block === 'string'
      ? `<p>${escaped(block).replaceAll('\n', '<br>')}</p>`
      : `<p><a href="${escaped(block.href)}">${escaped(block.label)}</a></p>`,
  )
  return {
    subject: oneLine(subject).slice(0, 200),
    text: `${text.join('\n\n')}\n`,
    html: `<!doctype html><html lang="en"><body style="font-family:sans-serif">${html.join('')}</body></html>\n`,
  }
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

/** A line break in a subject would begin another header, and one in a sentence another paragraph. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028-\u202e\u2066-\u2069]+/gu, ' ')
