import { expect, test } from 'vitest'
import { oncePerSchema } from './once-per-schema.ts'

test('a schema is compiled when it is first used', () => {
  let count = 0
  const compiled = oncePerSchema(() => ++count)({ type: 'string' })

  expect(count).toBe(0)
  expect([compiled(), compiled()]).toEqual([1, 1])
})

test('schemas that are alike are compiled once, and the smallest difference is one', () => {
  const compiled: object[] = []
  const of = oncePerSchema((schema) => {
    compiled.push(schema)
    return { schema }
  })
  const text = { type: 'string', maxLength: 3 }

  expect(of({ ...text })()).toBe(of({ ...text })())
  expect(of({ ...text, maxLength: 4 })().schema).toEqual({ type: 'string', maxLength: 4 })
  expect(of({ ...text, description: 'a name' })().schema).toHaveProperty('description')
  expect(compiled).toHaveLength(3)
})
