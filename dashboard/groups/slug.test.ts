import { expect, test } from 'vitest'
import { slugOf as made } from '#server/groups/resolve.ts'
import { slugOf } from './slug.ts'

test('the slug equals the one of the server', () => {
  for (const name of [
    'Production',
    'Kunden & Partner',
    '  Zürich 2 ',
    '東京',
    'a'.repeat(300),
    `${'a'.repeat(99)}--b`,
  ]) {
    expect(slugOf(name), name).toBe(made(name))
  }
  expect(slugOf('Kunden & Partner')).toBe('kunden-partner')
})
