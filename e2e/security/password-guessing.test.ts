import { expect, test } from 'vitest'
import { openBrowser } from '#server/testing/browser.ts'
import { givenApp } from '#server/testing/test-app.ts'

test('guessing passwords of many accounts is rate limited across all networks of an IPv6 site', async () => {
  const world = await givenApp('sqlite', { DASHBOARD_LIMIT: '0' })
  const statuses: number[] = []
  for (let number = 0; number < 104; number++) {
    const browser = openBrowser(world, `2001:db8:1:${number.toString(16)}::1`)
    const body = { email: `person${number}@example.com`, password: 'wrong horse' }
    statuses.push((await browser.call('/dashboard/auth/sign-in/email', { body })).status)
  }
  expect(statuses.filter((status) => status === 401)).toHaveLength(100)
  expect(statuses.slice(100)).toEqual([429, 429, 429, 429])
  const neighbour = openBrowser(world, '2001:db8:2::1')
  const body = { email: 'ada@example.com', password: 'wrong horse' }
  expect((await neighbour.call('/dashboard/auth/sign-in/email', { body })).status).toBe(401)
})
