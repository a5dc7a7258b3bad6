import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { PAGES } from './pages.ts'
import { findTextFaults } from './rendered-text.ts'
import { type Showcase, startShowcase } from './showcase.ts'

const AXE = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { id: string; nodes: { html: string; failureSummary: string }[] }

const ALL = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }
/** The widths of a laptop, a phone and a small phone. */
const SCREENS = [1280, 390, 320]
const COLOURS = { type: 'rule', values: ['color-contrast'] }

/** What axe-core finds, in words. */
async function findingsOf(page: Page, runOnly: typeof ALL): Promise<string[]> {
  // Without details of what passes, and without fetching style sheets again.
  const options = { runOnly, resultTypes: ['violations'], preload: false }
  const found = await page.evaluate(`axe.run(${JSON.stringify(options)})`)
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
})
afterAll(async () => {
  await browser.close()
  await Promise.all([showcases.full.close(), showcases.empty.close()])
})

describe('axe', () => {
  let pages: { full: Page; empty: Page }
  beforeAll(async () => {
    const [full, empty] = await Promise.all([signedIn(showcases.full), signedIn(showcases.empty)])
    pages = { full, empty }
  })

  async function signedIn({ server, owner }: Showcase): Promise<Page> {
    // Axe is put into the page, which the page's own policy would not let anyone do.
    const options = { baseURL: server.url, colorScheme: 'light', reducedMotion: 'reduce', bypassCSP: true } as const
    const page = await (await browser.newContext(options)).newPage()
    const headers = { origin: server.url }
    const answer = await page.request.post('/dashboard/auth/sign-in/email', { data: owner, headers })
    expect(answer.status()).toBe(200)
    return page
  }

  /** Faults of the text, and of a page that is wider than the screen. */
  async function faultsAt(page: Page, widths: readonly number[]): Promise<string[]> {
    const size = page.viewportSize()!
    const faults: string[] = []
    for (const width of widths) {
      await page.setViewportSize({ ...size, width })
      // The page learns of its new width with the next frame, which a busy machine draws later.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
      faults.push(...(await findTextFaults(page)).map((fault) => `${width} px: ${fault}`))
      const needed = Number(await page.evaluate('document.documentElement.scrollWidth'))
      if (needed > width) faults.push(`${width} px: the page is ${needed} px wide`)
    }
    await page.setViewportSize(size)
    return faults
  }

  test.each(PAGES)(
    'finds nothing on $name, in light mode, and no color problem in dark mode; its text has no faults, and it fits on phones',
    async (shown) => {
      const { path, isEmptyServer, prepare } = shown
      const [page, showcase] = isEmptyServer ? [pages.empty, showcases.empty] : [pages.full, showcases.full]
      await page.emulateMedia({ colorScheme: 'light' })
      await page.goto(typeof path === 'string' ? path : path(showcase))
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.locator('.skeleton').first().waitFor({ state: 'detached' })
      await prepare?.(page, showcase)
      expect(await faultsAt(page, SCREENS)).toEqual([])
      await page.evaluate(await AXE)
      expect(await findingsOf(page, ALL)).toEqual([])
      // What a page does when it loads in dark mode, without its transitions.
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.addStyleTag({ content: '* { transition: none !important }' })
      await page.evaluate("document.documentElement.classList.add('dark')")
      expect(await findingsOf(page, COLOURS)).toEqual([])
    },
  )
})
