import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { PAGES } from './pages.ts'
import { type Showcase, startShowcase } from './showcase.ts'

const AXE = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { id: string; nodes: { html: string; failureSummary: string }[] }

/** What axe-core finds, in words: WCAG 2.2 AA and its best practices. */
async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(await AXE)
  const tags = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
  const found = await page.evaluate(`axe.run({ runOnly: { type: 'tag', values: ${tags} } })`)
  return (found as { violations: Finding[] }).violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  )
}

let browser: Browser
let showcases: { full: Showcase; empty: Showcase }
beforeAll(async () => {
  browser = await openBrowser()
  const [full, empty] = await Promise.all([startShowcase({ monitors: 17 }), startShowcase({ monitors: 0 })])
  showcases = { full, empty }
}, 120_000)
afterAll(async () => {
  await browser.close()
  await Promise.all([showcases.full.close(), showcases.empty.close()])
})

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  let pages: { full: Page; empty: Page }
  beforeAll(async () => {
    const [full, empty] = await Promise.all([signedIn(showcases.full), signedIn(showcases.empty)])
    pages = { full, empty }
  }, 60_000)

  async function signedIn({ server, owner }: Showcase): Promise<Page> {
    // Axe is put into the page, which the page's own policy would not let anyone do.
    const options = { baseURL: server.url, colorScheme, reducedMotion: 'reduce', bypassCSP: true } as const
    const page = await (await browser.newContext(options)).newPage()
    const headers = { origin: server.url }
    const answer = await page.request.post('/dashboard/auth/sign-in/email', { data: owner, headers })
    expect(answer.status()).toBe(200)
    return page
  }

  test.each(PAGES)('axe finds nothing on $name', { timeout: 60_000 }, async ({ path, ofEmpty, prepare }) => {
    const [page, showcase] = ofEmpty ? [pages.empty, showcases.empty] : [pages.full, showcases.full]
    await page.goto(typeof path === 'string' ? path : path(showcase))
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.locator('.bone').first().waitFor({ state: 'detached' })
    await prepare?.(page, showcase)
    expect(await findingsOf(page)).toEqual([])
  })
})
