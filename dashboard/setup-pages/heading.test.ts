import { expect, test } from 'vitest'
import type { PublicPage } from '#contract/setup-pages.ts'
import { headingOf } from './heading.ts'

test.each([
  ['Connect shop.example.com', ['shop.example.com example.com', 'shop.example.com example.com']],
  ['Connect example.com', ['example.com example.com', 'www.example.com example.com', '_dmarc.example.com example.com']],
  [
    'Connect example.com and example.net',
    ['www.example.com example.com', 'example.com example.com', 'example.net example.net'],
  ],
  ['Connect a.example and 2 others', ['a.example a.example', 'b.example b.example', 'www.c.example c.example']],
])('the heading is "%s"', (heading, records) => {
  const given = records.map((record) => {
    const [name, zone] = record.split(' ')
    return { name, zone }
  })
  expect(headingOf({ records: given as PublicPage['records'] })).toBe(heading)
})
