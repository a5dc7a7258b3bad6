import { expect, test } from 'vitest'
import { givenApp } from '#server/testing/test-app.ts'

test('no response discloses the value of a webhook header to any key', async () => {
  const world = await givenApp('sqlite')
  const headers = { Authorization: 'Bearer 0123456789abcdef', 'X-Pin': '4711' }
  const body = { url: 'http://127.0.0.1:8/hook', headers, groups: ['default'] }
  const made = await world.call('/webhooks', { method: 'POST', body })
  const path = `/webhooks/${made.body.id}`
  const { key: reader } = await world.key('read')
  const answers = [
    made,
    await world.call(path, { key: reader }),
    await world.call('/webhooks', { key: reader }),
    await world.call(path),
    await world.call(path, { method: 'PATCH', body: { is_active: true } }),
    await world.call(`${path}/disable`, { method: 'POST' }),
    await world.call(`${path}/rotate-secret`, { method: 'POST' }),
  ]

  for (const { status, text } of answers) {
    expect(status).toBeLessThan(300)
    expect(text).not.toMatch(/0123456789ab|4711/)
    expect(text).toContain('"Authorization":"********cdef"')
  }
})
