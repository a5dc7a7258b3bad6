import { expect, test } from 'vitest'
import { givenSignedInBrowser, PASSWORD } from '../testing/accounts.ts'
import { openBrowser } from '../testing/browser.ts'
import { givenApp } from '../testing/test-app.ts'
import { refuseCommonPassword } from './passwords.ts'

test.each([
  ...[
    '12345678',
    '87654321',
    '1234567890',
    'aaaaaaaa',
    'abababab',
    'password',
    'Password1!',
    'P@ssw0rd2026',
    'QWERTYUIOP',
  ],
  ...['iloveyou1', 'Zonewatch2026', 'admin123', 'abcdefgh', 'Welcome123!', '11112222'],
])('%s is refused as a new password', (password) => {
  expect(() => refuseCommonPassword(password)).toThrow()
})

test.each(['correct horse battery', 'another horse', 'kT7$pq!x', 'passwordless sign-in', '2026-11-26 rain'])(
  '%s is accepted',
  (password) => {
    expect(() => refuseCommonPassword(password)).not.toThrow()
  },
)

test('signing up and changing the password refuse it, at the field', async () => {
  const world = await givenApp('sqlite', { SIGN_UP: 'open' })
  const body = { organization: 'Acme', name: 'Ada', email: 'ada@example.org', password: 'password1' }
  const signUp = await openBrowser(world).call('/dashboard/api/sign-up', { body })
  expect(signUp.body.errors).toEqual({ password: expect.stringContaining('most used passwords') })
  const browser = await givenSignedInBrowser(world, { name: 'Eve' })
  const change = { currentPassword: PASSWORD, newPassword: 'qwertyuiop' }
  expect((await browser.call('/dashboard/auth/change-password', { body: change })).body.errors).toEqual({
    newPassword: expect.stringContaining('most used passwords'),
  })
})
