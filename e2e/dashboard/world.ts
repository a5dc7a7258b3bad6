import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished, vi } from 'vitest'
import type { ServerProcess, Settings } from '#server/testing/server-process.ts'
import { givenServer, givenWorld, type World } from '#server/testing/server-world.ts'
import { openBrowser } from './browser.ts'
import { setupPathOf } from './setup-path.ts'

/** A browser beside other work on a small machine takes its time. */
vi.setConfig({ testTimeout: 90_000 })

export type DashboardWorld = World & { server: ServerProcess; browse: Browse }

/** A window of its own: cookies, storage. Whatever its pages complain of fails the test. */
export type Browse = (options?: BrowserContextOptions) => Promise<{ page: Page; context: BrowserContext }>

/** A running server without an organization, unless the settings make one, and a browser to open it with. */
export async function givenDashboard(settings: Settings = {}): Promise<DashboardWorld> {
  const world = await givenWorld('sqlite')
  const server = await givenServer({ ...world.settings, ...settings })
  return { ...world, server, browse: await givenBrowser(server.url) }
}

/** Pages under `baseURL`. */
export async function givenBrowser(baseURL: string): Promise<Browse> {
  const browser = await openBrowser()
  onTestFinished(() => browser.close())
  return async (options = {}) => {
    const context = await browser.newContext({ baseURL, viewport: { width: 1280, height: 860 }, ...options })
    context.setDefaultTimeout(20_000)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      // A refused request is the business of the test; a refused script or style is a fault.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        complaints.push(message.text())
    })
    onTestFinished(() => expect(complaints).toEqual([]))
    return { page, context }
  }
}

export const OWNER = {
  organization: 'Northwind',
  name: 'Ada Example',
  email: 'ada@example.com',
  password: 'a long password',
}

/** Fills in the set-up page and ends on the overview, as the owner. */
export async function setUp({ server }: Pick<DashboardWorld, 'server'>, page: Page): Promise<void> {
  await page.goto(await setupPathOf(server))
  await page.getByLabel('Organization').fill(OWNER.organization)
  await page.getByLabel('Your name').fill(OWNER.name)
  await page.getByLabel('E-mail').fill(OWNER.email)
  await page.getByLabel('Password').fill(OWNER.password)
  await page.getByRole('button', { name: 'Set up' }).click()
  await page.getByRole('navigation', { name: 'Main' }).waitFor()
}

export async function signIn(
  page: Page,
  { email, password }: { email: string; password: string } = OWNER,
): Promise<void> {
  await page.goto('/dashboard/sign-in')
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
