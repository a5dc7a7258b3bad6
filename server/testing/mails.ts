import { renderMail } from '../mail/mail-templates.ts'
import type { TestApp } from './test-app.ts'
import { eventually } from './test-server.ts'

/** The texts of the mails to a recipient, newest first. Waits for `count` mails, because some are written after the response. */
export async function mailsTo({ deps }: TestApp, recipient: string, count = 1): Promise<string[]> {
  const query = deps.db.selectFrom('mails').selectAll().where('recipient', '=', recipient).orderBy('id', 'desc')
  const mails = await eventually(
    () => query.execute(),
    ({ length }) => length >= count,
  )
  const { baseUrl } = deps.config
  return mails.map(
    ({ content, about }) => renderMail(JSON.parse(content), { baseUrl, keyring: deps.keyring, about }).text,
  )
}

/** The token of the link to `page` in the newest of `count` mails to a recipient. */
export async function mailedToken(world: TestApp, recipient: string, page: string, count = 1): Promise<string> {
  const [text = ''] = await mailsTo(world, recipient, count)
  return new RegExp(`/dashboard/${page}/([\\w-]{22})\\s`).exec(text)![1]!
}
