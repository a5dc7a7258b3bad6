import { expect, test } from 'vitest'
import { QueryBudget } from './query-budget.ts'

test('a check sends at most 200 queries to name servers, of which 100 to those of one zone', () => {
  const budget = new QueryBudget()
  expect(budget.leftFor('example.test')).toBe(100)
  budget.spend('example.test', 100)
  expect([budget.leftFor('example.test'), budget.leftFor('test'), budget.isExhausted()]).toEqual([0, 100, false])
  budget.spend('test', 60)
  expect(budget.leftFor('')).toBe(40)
  budget.spend('', 40)
  expect([budget.leftFor('other.test'), budget.spent, budget.isExhausted()]).toEqual([0, 200, true])
})

test('a check that keeps half a mebibyte of answers sends no more', () => {
  const budget = new QueryBudget()
  budget.keep(512 * 1024 - 1)
  expect(budget.leftFor('example.test')).toBe(100)
  budget.keep(1)
  expect([budget.leftFor('example.test'), budget.isExhausted()]).toEqual([0, true])
})
