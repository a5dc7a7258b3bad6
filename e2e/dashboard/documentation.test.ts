import { expect, test } from 'vitest'
import { shareDashboard } from './dashboard.ts'

const PHONE = { width: 390, height: 844 }

const given = shareDashboard()

test('the documentation is searched by keyboard, and the result opens its section', async () => {
  const { browse } = await given()
  const { page } = await browse()
  await page.goto('/docs')
  await page.keyboard.press('/')
  await page.getByRole('combobox', { name: 'Search the documentation' }).waitFor()
  await page.keyboard.type('rotate SECRET')
  const options = page.getByRole('option')
  await options.first().waitFor()
  await expect.poll(() => page.getByRole('status').innerText()).toMatch(/^\d+ results?$/)
  await page.keyboard.press('ArrowDown')
  expect(await options.nth(1).getAttribute('aria-selected')).toBe('true')
  await page.keyboard.press('ArrowUp')
  expect(await options.first().innerText()).toMatch(/secret/i)
  await page.keyboard.press('Enter')
  await expect.poll(() => page.url()).toMatch(/\/docs\/guides\/rotate-the-secret#.*secret/)
  await page.locator('html.scripted').waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('nothingofthekind')
  await page.getByText('Nothing found for “nothingofthekind”.').waitFor()
  await page.keyboard.press('Escape')
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('a code block is copied, and the theme is kept on the next page', async () => {
  const { browse } = await given()
  const { page, context } = await browse({ colorScheme: 'light' })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.goto('/docs/tutorials/first-monitor')
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe('npm ci\nnpm start')
  await page.getByRole('button', { name: 'Switch between light and dark' }).click()
  await page.locator('a[rel=next]').click()
  await page.getByRole('heading', { level: 1, name: "Onboard customers' domains" }).waitFor()
  expect(await page.evaluate('document.documentElement.className')).toContain('dark')
})

test('every page is readable without JavaScript, and the list of pages opens on a phone', async () => {
  const { browse } = await given()
  const { page } = await browse({ javaScriptEnabled: false, viewport: PHONE })
  await page.goto('/docs')
  await page.getByRole('button', { name: 'Pages' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'What matches' }).click()
  await page.getByRole('heading', { level: 1, name: 'What matches' }).waitFor()
  expect(await page.getByRole('button', { name: 'Search' }).isVisible()).toBe(false)
})

test('no page is wider than a phone', async () => {
  const { browse } = await given()
  const { page } = await browse({ viewport: PHONE })
  await page.goto('/docs')
  const links = page.locator('#site-pages a[href^="/docs/"]:not([href="/docs/api"])')
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')!))
  expect(paths.length).toBeGreaterThan(20)
  const wide: string[] = []
  for (const path of paths) {
    await page.goto(path)
    const width = await page.evaluate('document.documentElement.scrollWidth')
    if ((width as number) > PHONE.width) wide.push(`${path}: ${width}`)
  }
  expect(wide).toEqual([])
})
