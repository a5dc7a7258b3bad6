import { expect, test } from 'vitest'
import { compileLazily, findUnsafeInput } from './validation.ts'

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

test.each([
  ['text with U+0000', { a: { b: ['x', 'y\0'] } }, 'a.b.1'],
  ['half a surrogate pair', { a: '\ud800' }, 'a'],
  ['a field with such a name', { a: { 'b\0': 1 } }, 'a'],
  ['text as the whole body', '\0', 'body'],
  ['nesting that no schema has', nested(33), 'body'],
  ['more values than any request needs', Array(100_001).fill(0), 'body'],
  ['many small lists', Array(2_000).fill(Array(100).fill(0)), 'body'],
])('%s is unsafe, and the error names the field', (_what, input, field) => {
  expect(Object.keys(findUnsafeInput(input) ?? {})).toEqual([field])
})

test('ordinary input is not unsafe', () => {
  const full = { monitors: Array(1_000).fill({ domain: '😀 x', expected_value: Array(10).fill('192.0.2.1'), a: null }) }
  for (const input of [{}, null, 1, full, nested(32), Object.create(null)])
    expect(findUnsafeInput(input)).toBeUndefined()
})

test('deeply nested input causes no stack overflow', () => {
  let deep: unknown = []
  for (let depth = 0; depth < 400_000; depth++) deep = [deep]
  expect(findUnsafeInput(deep)).toBeDefined()
})

test('a schema is compiled when it is first used', () => {
  let count = 0
  const compiled = compileLazily(() => ++count)({ type: 'string' })

  expect(count).toBe(0)
  expect([compiled(), compiled()]).toEqual([1, 1])
})

test('equal schemas are compiled once, different ones separately', () => {
  const compiled: object[] = []
  const of = compileLazily((schema) => {
    compiled.push(schema)
    return { schema }
  })
  const text = { type: 'string', maxLength: 3 }

  expect(of({ ...text })()).toBe(of({ ...text })())
  expect(of({ ...text, maxLength: 4 })().schema).toEqual({ type: 'string', maxLength: 4 })
  expect(of({ ...text, description: 'a name' })().schema).toHaveProperty('description')
  expect(compiled).toHaveLength(3)
})
