import { expect, test } from 'vitest'
import { formatJson } from './format-json.ts'

test('formatting adds only white space', () => {
  const json = '{"b":1.0,"10":{"a,{:":"x\\"y  z"},"2":[],"list":["p",{}]}'
  expect(formatJson(json)).toBe(
    '{\n  "b": 1.0,\n  "10": {\n    "a,{:": "x\\"y  z"\n  },\n  "2": [],\n  "list": [\n    "p",\n    {}\n  ]\n}',
  )
})
