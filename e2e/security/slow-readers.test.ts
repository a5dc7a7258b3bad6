import { ReadStream } from 'node:fs'
import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { documentation } from '#server/http/docs.ts'
import { givenJobs, givenMonitors } from '#server/testing/jobs.ts'
import { givenApp } from '#server/testing/test-app.ts'

test('the largest public file is read from the disk piece by piece, however slowly clients take it', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  const sent: unknown[] = []
  app.addHook('onSend', async (_request, _reply, payload) => {
    sent.push(payload)
    return payload
  })
  await app.register(documentation)
  const { statusCode, rawPayload } = await app.inject('/docs/api/reference.js')
  expect(statusCode).toBe(200)
  expect(rawPayload.length).toBeGreaterThan(1_000_000)
  expect(sent).toEqual([expect.any(ReadStream)])
})

test('a page of large values has fewer rows than its limit, and the pages together have all of them, in both directions', async () => {
  const world = await givenApp('sqlite')
  const created = await givenMonitors(world, 30, { record_type: 'TXT', expected_value: 'x' })
  // A TXT of 64 KiB that is not UTF-8: each octet has 4 characters, and 5 in JSON.
  const current_values = JSON.stringify(['\\200'.repeat(65_535)])
  await world.deps.db.updateTable('monitors').set({ current_values }).execute()

  const pages: { text: string; body: { data: { id: string }[]; after: string | null; before: string | null } }[] = []
  const read = async (position: string) => pages.push(await world.call(`/monitors?limit=100${position}`))
  for (await read(''); pages.at(-1)!.body.after; ) await read(`&after=${pages.at(-1)!.body.after}`)
  const ids = (part: typeof pages) => part.flatMap(({ body }) => body.data.map(({ id }) => id))
  expect(ids(pages)).toEqual(created)
  expect(pages.length).toBeGreaterThan(2)
  expect(Math.max(...pages.map(({ text }) => text.length))).toBeLessThan(4.5 * 1024 * 1024)

  const forwards = ids(pages)
  const last = pages.splice(0).at(-1)!
  pages.push(last)
  while (pages.at(-1)!.body.before) await read(`&before=${pages.at(-1)!.body.before}`)
  expect(ids(pages.reverse())).toEqual(forwards)
})

test('a job lists every monitor, also if their values fill a page before its limit', async () => {
  const world = await givenApp('sqlite')
  await givenMonitors(world, 30, { record_type: 'TXT', expected_value: 'x' })
  await world.deps.db
    .updateTable('monitors')
    .set({ current_values: JSON.stringify(['x'.repeat(300_000)]) })
    .execute()
  const job = await givenJobs(world).run({ action: 'tag', all: true, tags: ['a'] })
  expect(job).toMatchObject({ state: 'finished', total: 30, changed: 30 })
})

test('a connection is closed if its client stops reading the response', async () => {
  const { app } = await givenApp('sqlite')
  expect(app.server.timeout).toBe(120_000)
})
