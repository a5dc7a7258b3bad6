import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PAGES } from './pages.ts'
import { type Showcase, startShowcase } from './showcase.ts'
import { givenBrowser } from './world.ts'

const AXE = readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

type Finding = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/** What axe-core finds, in words. WCAG 2.2 AA and its best practices. */
async function findingsOf(page: Page): Promise<string[]> {
  await page.evaluate(await AXE)
  const found = (await page.evaluate('axe.run()')) as { violations: Finding[] }
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
  )
}

describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
  let showcases: { full: Showcase; empty: Showcase }
  beforeAll(async () => {
    const [full, empty] = await Promise.all([startShowcase({ monitors: 17 }), startShowcase({ monitors: 0 })])
    showcases = { full, empty }
  }, 60_000)
  afterAll(() => Promise.all([showcases.full.close(), showcases.empty.close()]))

  test.each(PAGES)('axe finds nothing on $name', { timeout: 40_000 }, async ({ path, isOpen, ofEmpty, prepare }) => {
    const showcase = ofEmpty ? showcases.empty : showcases.full
    const { page } = await (await givenBrowser(showcase.server.url))({
      colorScheme,
      reducedMotion: 'reduce',
      bypassCSP: true,
    })
    if (!isOpen) {
      const answer = await page.request.post('/dashboard/auth/sign-in/email', {
        data: showcase.owner,
        headers: { origin: showcase.server.url },
      })
      expect(answer.status()).toBe(200)
    }
    await page.goto(typeof path === 'string' ? path : path(showcase))
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.locator('.bone').first().waitFor({ state: 'detached' })
    await prepare?.(page, showcase)
    await page.waitForTimeout(200)
    expect(await findingsOf(page)).toEqual([])
  })
})
