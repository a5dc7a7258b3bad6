import type { Mails } from '#contract/account.ts'

type Mail = Mails['data'][number]

/** The newest invitation link sent to this address. The mails are sorted newest first. */
export function findInvitationLink(email: string, mails: readonly Mail[]): string | undefined {
  for (const { recipient, text } of mails) {
    if (recipient.toLowerCase() !== email.toLowerCase()) continue
    const words = text.split(/\s/).map((word) => word.match(/^https?:\/\/.+\/dashboard\/invitations\/[\w-]+/)?.[0])
    const link = words.find((word) => word !== undefined)
    if (link) return link
  }
  return undefined
}
