import type { Mails } from '#contract/account.ts'

type Mail = Mails['data'][number]

/** The newest link that was written to this address, found in the mail's text; undefined where none is. Mails come newest first. */
export function linkFor(email: string, mails: readonly Mail[]): string | undefined {
  for (const { recipient, text } of mails) {
    if (recipient.toLowerCase() !== email.toLowerCase()) continue
    const words = text.split(/\s/).map((word) => word.match(/^https?:\/\/.+\/dashboard\/invitations\/[\w-]+/)?.[0])
    const link = words.find((word) => word !== undefined)
    if (link) return link
  }
  return undefined
}
