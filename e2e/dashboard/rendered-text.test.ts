import { expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { findTextFaults } from './rendered-text.ts'

test('finds identifiers, missing spaces and overlapping lines, and nothing else', async () => {
  const browser = await openBrowser()
  const page = await browser.newPage()
  await page.setContent(`
    <p>Press onKey Enter</p>
    <p>Send it to <b>sam@northshop.example</b>only.</p>
    <p>Sent to  at 9:30</p>
    <div style="position: absolute; top: 600px">
      <dl><dt>from</dt><dd>undefined → 2026-11-27T05:27:09.848Z</dd></dl>
      <p>Set metadata to [object Object]</p>
      <p>Checked NaN minutes ago</p>
      <p>The undefined behavior of null routes; <code>2026-11-27T05:27:09.848Z</code></p>
    </div>
    <p>Two <b>words</b> and 5<span>s</span>, <code>isActive</code>, octoDNS@example.com</p>
    <p style="position: absolute; top: 200px">One line of text</p>
    <p style="position: absolute; top: 204px">Another line</p>
    <p style="position: absolute; top: 400px; margin: 0; line-height: 18px">The upper line</p>
    <p style="position: absolute; top: 412px; margin: 0; line-height: 18px">A third of it is covered</p>
    <p style="position: absolute; top: 500px; margin: 0; width: 90px; line-height: 1">Set solid, <b>lines touch</b> each other</p>
    <p style="position: absolute; top: 300px; width: 40px; overflow: hidden; white-space: nowrap">cut off text</p>
    <p style="position: absolute; top: 300px; left: 60px">beside it</p>`)

  expect(await findTextFaults(page)).toEqual([
    'an identifier: Press onKey Enter',
    'two spaces: Sent to  at 9:30',
    'a value of the program: undefined → 2026-11-27T05:27:09.848Z',
    'a value of the program: Set metadata to [object Object]',
    'a value of the program: Checked NaN minutes ago',
    'no space between "sam@northshop.example" and "only."',
    'overlapping: "One line of text" and "Another line"',
    'overlapping: "The upper line" and "A third of it is covered"',
  ])
  await browser.close()
})
