import { expect, test } from 'vitest'
import { withoutLink } from './server.ts'

test.each([
  ['/dashboard/reset-password/AbC123', '/dashboard/reset-password/…'],
  ['/dashboard/verify-email/AbC123?x=1', '/dashboard/verify-email/…'],
  ['/dashboard/alert-address/confirm/org_1.adr_1~0.AbC', '/dashboard/alert-address/…'],
  ['/dashboard/setup/AbC', '/dashboard/setup/…'],
  ['/dashboard/sign-in?token=AbC', '/dashboard/sign-in/…'],
  ['/dashboard/api/mails', '/dashboard/api/mails'],
  ['/dashboard/auth/sign-in/email', '/dashboard/auth/sign-in/email'],
  ['/monitors?state=VALID', '/monitors?state=VALID'],
  [`/monitors?api_key=zw_${'aB3'.repeat(14)}x&limit=1`, '/monitors?api_key=zw_…&limit=1'],
])('the log has %s without the token of a link or an API key', (url, logged) => {
  expect(withoutLink(url)).toBe(logged)
})
