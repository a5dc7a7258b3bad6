import { fastify } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { documentation } from '#server/http/docs.ts'
import { givenApp } from '#server/testing/test-app.ts'

test('the largest public file is in memory only once, however many slow clients request it', async () => {
  const app = fastify()
  onTestFinished(() => app.close())
  const sent: unknown[] = []
  app.addHook('onSend', async (_request, _reply, payload) => {
    sent.push(payload)
    return payload
  })
  await app.register(documentation)
  for (let time = 0; time < 2; time++) await app.inject('/docs/api/reference.js')
  expect(sent[0]).toBeInstanceOf(Buffer)
  expect(sent[1]).toBe(sent[0])
})

test('a connection is closed if its client stops reading the response', async () => {
  const { app } = await givenApp('sqlite')
  expect(app.server.timeout).toBe(120_000)
})
