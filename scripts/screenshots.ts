import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { openBrowser, unpackBrowser } from '../e2e/dashboard/browser.ts'
import { PAGES } from '../e2e/dashboard/pages.ts'
import { type Showcase, startShowcase } from '../e2e/dashboard/showcase.ts'
import { sampleMails } from '../server/testing/sample-messages.ts'
import { buildDashboard } from './build-dashboard.ts'

/**
 * `npm run screenshots [part of a name …]`: pictures of every page and every mail in both themes and two widths, of a real server, into
 * docs/screenshots/. Look at each of them.
 */
const FOLDER = 'docs/screenshots'
const THEMES = ['light', 'dark'] as const
const WIDTHS = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const

const wanted = process.argv.slice(2)
// Before the pictures go: the documentation is built with some of them.
await Promise.all([buildDashboard(), unpackBrowser()])
if (wanted.length === 0) await rm(FOLDER, { recursive: true, force: true })
await mkdir(FOLDER, { recursive: true })
await using stack = new AsyncDisposableStack()
const browser = stack.adopt(await openBrowser(), (opened) => opened.close())
const showcase = stack.adopt(await startShowcase({ monitors: 17 }), (world) => world.close())
const empty = stack.adopt(await startShowcase({ monitors: 0 }), (world) => world.close())
for (const theme of THEMES) {
  for (const [width, viewport] of Object.entries(WIDTHS)) {
    const context = { viewport, colorScheme: theme, locale: 'en-GB', timezoneId: 'Europe/Berlin' } as const
    await shoot(
      await browser.newContext({ ...context, baseURL: showcase.server.url }),
      showcase,
      false,
      `${theme}-${width}`,
    )
    await shoot(await browser.newContext({ ...context, baseURL: empty.server.url }), empty, true, `${theme}-${width}`)
    await shootMails(await browser.newContext(context), `${theme}-${width}`)
  }
}

async function shootMails(context: BrowserContext, variant: string): Promise<void> {
  const page = await context.newPage()
  for (const [mail, { html }] of Object.entries(sampleMails())) {
    const name = `mail-${mail}-${variant}`
    if (wanted.length > 0 && !wanted.some((part) => name.includes(part))) continue
    await page.setContent(html)
    await page.screenshot({ path: join(FOLDER, `${name}.png`) })
    process.stdout.write(`${name}\n`)
  }
  await context.close()
}

async function shoot(context: BrowserContext, world: Showcase, isEmpty: boolean, variant: string): Promise<void> {
  const page = await context.newPage()
  let isSignedIn = false
  for (const { name, path, isPublic, prepare, isEmptyServer } of PAGES) {
    if ((isEmptyServer ?? false) !== isEmpty || (wanted.length > 0 && !wanted.some((part) => name.includes(part))))
      continue
    if (!isPublic && !isSignedIn) await signIn(page, world)
    isSignedIn ||= !isPublic
    await page.goto(typeof path === 'string' ? path : path(world))
    await settled(page)
    await prepare?.(page, world)
    await page.waitForTimeout(400)
    await page.screenshot({ path: join(FOLDER, `${name}-${variant}.png`) })
    process.stdout.write(`${name}-${variant}\n`)
  }
  await context.close()
}

async function signIn(page: Page, { server, owner }: Showcase): Promise<void> {
  const answer = await page.request.post('/dashboard/auth/sign-in/email', {
    data: owner,
    headers: { origin: server.url },
  })
  if (!answer.ok()) throw new Error(`${answer.status()} ${await answer.text()}`)
}

/** Nothing is still being fetched; the stream of changes never ends, so the network is never idle. */
async function settled(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor()
  await page.locator('.bone').first().waitFor({ state: 'detached' })
  await page.evaluate('document.fonts.ready.then(() => true)')
}
