import { renderMail } from '../mail/content.ts'
import type { TestApp } from './test-app.ts'
import { eventually } from './test-server.ts'

/** The mails to somebody as they would be sent, newest first. Some are written after the answer, so it waits for `number` of them. */
export async function mailsTo({ deps }: TestApp, recipient: string, number = 1): Promise<string[]> {
  const query = deps.db.selectFrom('mails').selectAll().where('recipient', '=', recipient).orderBy('id', 'desc')
  const mails = await eventually(
    () => query.execute(),
    ({ length }) => length >= number,
  )
  const { baseUrl } = deps.config
  return mails.map(({ content, about }) => renderMail(JSON.parse(content), { baseUrl, seal: deps.seal, about }).text)
}

/** The token of the link to `page` in the newest of `number` mails to somebody. */
export async function mailedToken(world: TestApp, recipient: string, page: string, number = 1): Promise<string> {
  const [text = ''] = await mailsTo(world, recipient, number)
  return new RegExp(`/dashboard/${page}/([\\w-]{22})\\s`).exec(text)![1]!
}
