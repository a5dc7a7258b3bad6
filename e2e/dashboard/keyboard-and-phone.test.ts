import type { Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { givenBrowser, givenDashboard, setUp } from './dashboard.ts'
import { PAGES } from './pages.ts'
import { startShowcase } from './showcase.ts'

/** What a person without a mouse does: Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: RegExp, most = 60): Promise<void> {
  for (let presses = 0; presses < most; presses++) {
    await page.keyboard.press('Tab')
    const focused = page.locator(':focus')
    const label =
      (await focused.getAttribute('aria-label').catch(() => null)) ?? (await focused.innerText().catch(() => ''))
    if (name.test(label)) return
  }
  throw new Error(`nothing called ${name} within ${most} presses of Tab`)
}

test('a monitor is created by keyboard only', async () => {
  const { dns, ...world } = await givenDashboard()
  dns.set('www.shop.example', 'A', ['203.0.113.10'])
  const { page } = await world.browse()
  await setUp(world, page)
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('new monitor')
  await page.getByRole('option', { name: /New monitor/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/monitors\/new/)
  await page.getByRole('heading', { name: 'New monitor' }).waitFor()
  await page.getByLabel('Name or address').focus()
  await page.keyboard.type('www.shop.example')
  const choice = page.getByRole('checkbox', { name: 'Monitor A', exact: true })
  await choice.waitFor()
  for (
    let presses = 0;
    presses < 20 &&
    !(await choice.evaluate('document.activeElement?.getAttribute("role") === "checkbox"').catch(() => false));
    presses++
  ) {
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('Space')
  await tabTo(page, /Create monitor/)
  await page.keyboard.press('Enter')
  await page.waitForURL(/monitors\/mon_/)
})

const PHONES = [
  { width: 390, height: 844 },
  { width: 320, height: 640 },
]

test('no page is wider than the screen of a phone, or of a small phone', async () => {
  const showcase = await startShowcase({ monitors: 17 })
  onTestFinished(() => showcase.close())
  const { page } = await (await givenBrowser(showcase.server.url))({ viewport: PHONES[0]!, colorScheme: 'dark' })
  await page.request.post('/dashboard/auth/sign-in/email', {
    data: showcase.owner,
    headers: { origin: showcase.server.url },
  })
  const tooWide: string[] = []
  for (const { name, path, isPublic, isEmptyServer, prepare } of PAGES) {
    if (isPublic || isEmptyServer) continue
    await page.goto(typeof path === 'string' ? path : path(showcase))
    await page.getByRole('heading', { level: 1 }).first().waitFor()
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    await prepare?.(page, showcase)
    for (const phone of PHONES) {
      await page.setViewportSize(phone)
      const width = await page.evaluate('document.documentElement.scrollWidth')
      if ((width as number) > phone.width) tooWide.push(`${name} on ${phone.width}: ${width}`)
    }
  }
  expect(tooWide).toEqual([])
})
