import { expect } from 'vitest'
import { setupToken } from '../../accounts/first-owner.ts'
import type { Engine } from '../../database/engine.ts'
import { currentCode, nextCode, PASSWORD } from '../accounts.ts'
import { openBrowser } from '../browser.ts'
import { mailedToken } from '../mails.ts'
import { givenApp } from '../test-app.ts'
import { type AuditedRequest, type AuditFixture, type ExpectedEntry, OWNER_ADDRESS } from './fixture.ts'

const AUTH = '/dashboard/auth'
const NEW_PASSWORD = 'another horse battery'
const OLGA = 'olga@example.com'
const NEW_OLGA = 'olga@new.example'

const byOlga = (
  path: string,
  body: (fixture: AuditFixture) => object,
  entry: ExpectedEntry,
  prepare?: (fixture: AuditFixture) => Promise<unknown>,
): AuditedRequest => ({
  route: `POST ${path}`,
  ...(prepare && { prepare }),
  request: (fixture) => fixture.owner.call(path, { body: body(fixture) }),
  entry: { label: 'Olga', ...entry, by: 'person' },
})

/** Signs in with the password only, so that the code is requested next. */
async function signInWithPasswordOnly({ owner }: AuditFixture): Promise<void> {
  owner.cookies.clear()
  await owner.call(`${AUTH}/sign-in/email`, { body: { email: OLGA, password: PASSWORD } })
}

/** Stores two of the codes for later requests. */
function rememberCodes({ ids, secrets }: AuditFixture, codes: string[]): void {
  secrets.push(...codes)
  ids.code = codes[0]!
  ids.spare = codes[1]!
}

/** Olga sends these in her browser, in this order. */
export const ACCOUNT_REQUESTS: AuditedRequest[] = [
  byOlga(`${AUTH}/sign-in/email`, () => ({ email: OLGA, password: PASSWORD }), { action: 'agent.signed_in' }),
  byOlga(
    `${AUTH}/two-factor/verify-totp`,
    ({ ids }) => ({ code: currentCode(ids.totp!) }),
    { action: 'agent.second_factor_enabled' },
    async (fixture) => {
      const { body } = await fixture.owner.call(`${AUTH}/two-factor/enable`, { body: { password: PASSWORD } })
      fixture.ids.totp = body.totpURI
      fixture.secrets.push(/secret=(\w+)/.exec(body.totpURI)![1]!)
      rememberCodes(fixture, body.backupCodes)
    },
  ),
  byOlga(
    `${AUTH}/two-factor/verify-totp`,
    ({ ids }) => ({ code: nextCode(ids.totp!) }),
    { action: 'agent.signed_in' },
    signInWithPasswordOnly,
  ),
  {
    route: `POST ${AUTH}/two-factor/generate-backup-codes`,
    request: async (fixture) => {
      const request = { body: { password: PASSWORD, code: fixture.ids.code } }
      const response = await fixture.owner.call(`${AUTH}/two-factor/generate-backup-codes`, request)
      rememberCodes(fixture, response.body.backupCodes)
      return response
    },
    entry: { action: 'agent.backup_codes_created', label: 'Olga', by: 'person' },
  },
  byOlga(
    `${AUTH}/two-factor/verify-backup-code`,
    ({ ids }) => ({ code: ids.code }),
    { action: 'agent.signed_in' },
    signInWithPasswordOnly,
  ),
  byOlga(`${AUTH}/two-factor/disable`, ({ ids }) => ({ password: PASSWORD, code: ids.spare }), {
    action: 'agent.second_factor_disabled',
  }),
  byOlga(`${AUTH}/update-user`, () => ({ name: 'Olga O.' }), {
    ...{ action: 'agent.renamed', label: 'Olga O.' },
    ...{ before: { name: 'Olga' }, after: { name: 'Olga O.' } },
  }),
  byOlga(`${AUTH}/update-user`, () => ({ name: 'Olga' }), { action: 'agent.renamed' }),
  byOlga(`${AUTH}/change-password`, () => ({ currentPassword: PASSWORD, newPassword: NEW_PASSWORD }), {
    action: 'agent.password_changed',
  }),
  byOlga(
    `${AUTH}/verify-email`,
    ({ ids }) => ({ token: ids.token }),
    { action: 'agent.email_changed', before: { email: OLGA }, after: { email: NEW_OLGA } },
    async ({ world, owner, ids, secrets }) => {
      await owner.call(`${AUTH}/change-email`, { body: { newEmail: NEW_OLGA, password: NEW_PASSWORD } })
      ids.token = await mailedToken(world, NEW_OLGA, 'verify-email')
      secrets.push(NEW_PASSWORD, ids.token)
    },
  ),
  byOlga(
    `${AUTH}/reset-password`,
    ({ ids }) => ({ token: ids.token, newPassword: PASSWORD }),
    { action: 'agent.password_reset' },
    async ({ world, owner, ids, secrets }) => {
      await owner.call(`${AUTH}/request-password-reset`, { body: { email: NEW_OLGA } })
      ids.token = await mailedToken(world, NEW_OLGA, 'reset-password', 2)
      secrets.push(ids.token)
    },
  ),
  {
    route: 'POST /dashboard/api/invitations/:token/accept',
    prepare: async ({ world, send, ids, secrets }) => {
      await send('POST', '/agents/invitations', { email: 'eva@example.com' })
      ids.token = await mailedToken(world, 'eva@example.com', 'invitations')
      secrets.push(ids.token)
    },
    request: ({ world, ids }) => {
      const body = { name: 'Eva', password: PASSWORD }
      return openBrowser(world, OWNER_ADDRESS).call(`/dashboard/api/invitations/${ids.token}/accept`, { body })
    },
    entry: { action: 'invitation.accepted', by: 'person', label: 'eva@example.com' },
  },
]

const ADA = { organization: 'Acme', name: 'Ada', email: 'ada@example.com', password: PASSWORD }
const ORGANIZATION = { by: 'person', label: 'Acme', after: { name: 'Acme', slug: 'acme' } } as const

/** Requests to an empty server that sends no mail. */
export const FIRST_REQUESTS: AuditedRequest[] = [
  byOlga('/dashboard/api/setup', ({ ids }) => ({ token: ids.setup, ...ADA }), {
    ...{ action: 'organization.created', ...ORGANIZATION },
  }),
  byOlga('/dashboard/api/organizations', () => ({ name: 'Second' }), {
    ...{ action: 'organization.created', label: 'Second' },
  }),
  byOlga('/dashboard/api/sign-up', () => ({ ...ADA, organization: 'Third', email: 'bob@example.com' }), {
    ...{ action: 'organization.created', label: 'Third' },
  }),
  byOlga(
    `${AUTH}/change-email`,
    () => ({ newEmail: 'bob@new.example', password: PASSWORD }),
    { action: 'agent.email_changed', label: 'Ada', after: { email: 'bob@new.example' } },
    ({ owner }) => owner.call(`${AUTH}/sign-in/email`, { body: { email: 'bob@example.com', password: PASSWORD } }),
  ),
]

/** Like `givenAuditFixture`, but without an organization. */
export async function givenEmptyServer(engine: Engine): Promise<AuditFixture> {
  const world = await givenApp(engine, { SIGN_UP: 'open' })
  const setup = await setupToken(world.deps.db, world.deps.keyring)
  const owner = openBrowser(world, OWNER_ADDRESS)
  const send = async () => expect.unreachable()
  return { world, owner, ids: { setup }, secrets: [PASSWORD, setup], send, billing: undefined as never }
}
