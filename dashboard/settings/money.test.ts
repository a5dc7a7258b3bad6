import { expect, test } from 'vitest'
import { formatMoney } from './money.ts'

test('amounts use the smallest unit of their currency', () => {
  expect(formatMoney(900, 'EUR', 'en')).toBe('€9.00')
  expect(formatMoney(900, 'JPY', 'en')).toBe('¥900')
  expect(formatMoney(9_005, 'USD', 'en')).toBe('$90.05')
})
