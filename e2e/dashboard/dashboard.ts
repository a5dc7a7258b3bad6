import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { insertOrganization } from '#server/accounts/organizations.ts'
import { scryptPasswords } from '#server/accounts/passwords.ts'
import type { Database } from '#server/database/database.ts'
import { openDatabase } from '#server/database/open.ts'
import { migratedDatabaseUrl } from '#server/testing/database.ts'
import { startDnsServer } from '#server/testing/dns-server.ts'
import { startReceiver } from '#server/testing/receiver.ts'
import { type ServerProcess, type Settings, startServer } from '#server/testing/server-process.ts'
import {
  givenEnvironment,
  givenServer,
  ONE_PROCESS,
  serverSettings,
  type TestEnvironment,
} from '#server/testing/test-server.ts'
import { openBrowser } from './browser.ts'
import { findSetupLink } from './setup-link.ts'

export type Dashboard = TestEnvironment & { server: ServerProcess; browse: Browse }

/** Opens a window with its own cookies and storage. Errors of its pages fail the test. A test that fails prints its pages. */
export type Browse = (options?: BrowserContextOptions) => Promise<{ page: Page; context: BrowserContext }>

/** A running server, without an organization unless the settings create one, and a browser. */
export async function givenDashboard(settings: Settings = {}): Promise<Dashboard> {
  const world = await givenEnvironment('sqlite')
  const server = await givenServer({ ...world.settings, ...settings })
  return { ...world, server, browse: await givenBrowser(server.url) }
}

/** A browser for this test that opens pages below `baseURL`. */
export async function givenBrowser(baseURL: string): Promise<Browse> {
  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  return browseWith(browser, baseURL)
}

function browseWith(browser: Browser, baseURL: string): Browse {
  return async (options = {}) => {
    // A click on an element that moves can miss it.
    const defaults = { viewport: { width: 1280, height: 860 }, reducedMotion: 'reduce' } as const
    const context = await browser.newContext({ baseURL, ...defaults, ...options })
    onTestFinished(() => context.close())
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    const pageErrors: string[] = []
    page.on('pageerror', (error) => pageErrors.push(error.message))
    page.on('console', (message) => {
      // The test decides about refused requests. Other errors, such as refused scripts and styles, are faults.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        pageErrors.push(message.text())
    })
    onTestFinished(() => expect(pageErrors).toEqual([]))
    onTestFinished(async ({ task }) => {
      if (task.result?.state !== 'fail' || page.isClosed()) return
      console.error(`${page.url()}\n${await page.locator('body').ariaSnapshot()}`)
    })
    return { page, context }
  }
}

type Owner = { name: string; email: string; password: string; organization: string }
type Shared = Omit<Dashboard, 'browse'> & { browser: Browser; db: Database; close(): Promise<void> }

/**
 * One server and one browser for all tests of a file. Each test gets its own organization and a window in which the owner is
 * signed in. Call it at the top level of the file.
 */
export function shareDashboard(settings: Settings = {}) {
  let shared: Shared
  let organizations = 0
  beforeAll(async () => {
    shared = await startShared(settings)
  })
  afterAll(() => shared?.close())
  return async (): Promise<Dashboard & { owner: Owner; page: Page; context: BrowserContext }> => {
    const { browser, db, ...world } = shared
    const email = `ada${++organizations}@example.com`
    const owner = { ...OWNER, name: `ada${organizations}`, email }
    passwordHash ??= scryptPasswords.hash(OWNER.password)
    const organization = { name: OWNER.organization, email, passwordHash: await passwordHash }
    await insertOrganization(db, organization, Date.now())
    world.receiver.reset()
    world.dns.reset()
    const browse = browseWith(browser, world.server.url)
    const { page, context } = await browse()
    const headers = { origin: world.server.url }
    const data = { email, password: owner.password }
    expect((await page.request.post('/dashboard/auth/sign-in/email', { data, headers })).status()).toBe(200)
    return { ...world, browse, owner, page, context }
  }
}

let passwordHash: Promise<string> | undefined

async function startShared(settings: Settings): Promise<Shared> {
  const [dns, receiver, database, folder, browser] = await Promise.all([
    startDnsServer(),
    startReceiver(),
    migratedDatabaseUrl('sqlite'),
    mkdtemp(join(tmpdir(), 'zonewatch-e2e-')),
    openBrowser(),
  ])
  const allSettings = { ...serverSettings({ dns, databaseUrl: database.url, folder }), ...ONE_PROCESS, ...settings }
  const server = await startServer(allSettings)
  const db = openDatabase(database.url)
  const close = async () => {
    await Promise.all([browser.close(), server.kill(), db.destroy()])
    await Promise.all([dns.close(), receiver.close(), database.drop(), rm(folder, { recursive: true, force: true })])
  }
  return { dns, receiver, settings: allSettings, databaseUrl: database.url, server, browser, db, close }
}

export const OWNER = {
  organization: 'Northwind',
  name: 'Ada Example',
  email: 'ada@example.com',
  password: 'a long password',
}

/** Fills in the setup page and waits for the overview, as the owner. */
export async function setUp({ server }: Pick<Dashboard, 'server'>, page: Page): Promise<void> {
  await page.goto(await findSetupLink(server))
  await page.getByLabel('Organization').fill(OWNER.organization)
  await page.getByLabel('Your name').fill(OWNER.name)
  await page.getByLabel('Email').fill(OWNER.email)
  await page.getByLabel('Password').fill(OWNER.password)
  await page.getByRole('button', { name: 'Set up' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

export async function signIn(page: Page, { email, password }: { email: string; password: string }): Promise<void> {
  await page.goto('/dashboard/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
