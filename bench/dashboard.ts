import type { Page } from 'playwright-core'
import { openBrowser, unpackBrowser } from '../e2e/dashboard/browser.ts'
import { startShowcase } from '../e2e/dashboard/showcase.ts'
import { buildDashboard } from '../scripts/build-dashboard.ts'
import { readOptions } from './options.ts'

/**
 * `npm run bench -- dashboard [--monitors N] [--rounds N] [--json]`: the table of monitors in a real browser. From the click to the
 * first row painted; then the longest time for which a frame was held up while it is scrolled.
 */
const { values } = readOptions({
  options: {
    monitors: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '10' },
    json: { type: 'boolean', default: false },
  },
})
const monitors = Number(values.monitors)
const rounds = Number(values.rounds)

await Promise.all([buildDashboard(), unpackBrowser()])
const showcase = await startShowcase({ monitors })
const browser = await openBrowser()
try {
  await allChecked()
  const context = await browser.newContext({ baseURL: showcase.server.url, viewport: { width: 1280, height: 860 } })
  const page = await context.newPage()
  await page.request.post('/dashboard/auth/sign-in/email', {
    data: showcase.owner,
    headers: { origin: showcase.server.url },
  })
  const painted: number[] = []
  for (let round = 0; round < rounds; round++) painted.push(await firstRow(page))
  const stall = await scrolled(page)
  report({
    ...{ bench: 'dashboard', monitors, rounds },
    ...{ first_ms: painted[0]!, painted_p50_ms: middle(painted), painted_max_ms: Math.max(...painted) },
    ...{ longest_stall_ms: stall.longest, frames: stall.frames },
  })
} finally {
  await browser.close()
  await showcase.close()
}

/** Each new monitor is checked at once: that load is not the dashboard's. */
async function allChecked(): Promise<void> {
  for (;;) {
    const { data } = await showcase.call<{ data: unknown[] }>('GET', '/monitors?state=UNSET&limit=1')
    if (data.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

/** From the overview by a click on "Monitors", until a row with a monitor's name was painted. The first one fetches the page's script too. */
async function firstRow(page: Page): Promise<number> {
  await page.goto('/dashboard')
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Monitors' }).waitFor()
  await page.waitForTimeout(1_000)
  return await page.evaluate<number>(`new Promise((resolve) => {
    const link = [...document.querySelectorAll('nav a')].find((each) => each.textContent.trim() === 'Monitors')
    const from = performance.now()
    const look = () => {
      const isThere = document.querySelector('h1')?.textContent === 'Monitors'
      const row = [...document.querySelectorAll('main a')].some((each) => each.getAttribute('href')?.includes('/monitors/mon_'))
      if (isThere && row) requestAnimationFrame(() => resolve(performance.now() - from))
      else requestAnimationFrame(look)
    }
    link.click()
    requestAnimationFrame(look)
  })`)
}

/** Scrolls by a page's height in each frame, for 5 seconds. */
async function scrolled(page: Page): Promise<{ longest: number; frames: number }> {
  return await page.evaluate(`new Promise((resolve) => {
    let last = performance.now(), longest = 0, frames = 0
    const until = last + 5_000
    const step = (now) => {
      longest = Math.max(longest, now - last)
      last = now
      frames++
      scrollBy(0, 400)
      if (now > until) resolve({ longest, frames })
      else requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)
}

function middle(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!
}

function report(line: Record<string, string | number>): void {
  if (values.json) {
    process.stdout.write(`${JSON.stringify(line)}\n`)
    return
  }
  for (const [name, value] of Object.entries(line)) {
    process.stdout.write(`${name.padEnd(18)}${typeof value === 'number' ? Math.round(value * 10) / 10 : value}\n`)
  }
}
