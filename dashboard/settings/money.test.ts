import { expect, test } from 'vitest'
import { moneyText } from './money.ts'

test('each currency has its own smallest unit', () => {
  expect(moneyText(900, 'EUR', 'en')).toBe('€9.00')
  expect(moneyText(900, 'JPY', 'en')).toBe('¥900')
  expect(moneyText(9_005, 'USD', 'en')).toBe('$90.05')
})
