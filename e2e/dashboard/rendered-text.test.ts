import { expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { findTextFaults } from './rendered-text.ts'

test('finds identifiers, missing spaces and overlapping lines, and nothing else', async () => {
  const browser = await openBrowser()
  const page = await browser.newPage()
  await page.setContent(`
    <p>Press onKey Enter</p>
    <p>Send it to <b>sam@northshop.example</b>only.</p>
    <p>Two <b>words</b> and 5<span>s</span>, <code>isActive</code>, octoDNS@example.com</p>
    <p style="position: absolute; top: 200px">One line of text</p>
    <p style="position: absolute; top: 204px">Another line</p>
    <p style="position: absolute; top: 300px; width: 40px; overflow: hidden; white-space: nowrap">cut off text</p>
    <p style="position: absolute; top: 300px; left: 60px">beside it</p>`)

  expect(await findTextFaults(page)).toEqual([
    'an identifier: Press onKey Enter',
    'no space between "sam@northshop.example" and "only."',
    'overlapping: "One line of text" and "Another line"',
  ])
  await browser.close()
})
