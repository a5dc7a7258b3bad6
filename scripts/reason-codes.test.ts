import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { FIELD_ERRORS } from '#contract/field-errors.ts'
import {
  CONFIRMATION_REASONS,
  textOf,
  VERDICT_REASONS,
  type VerdictReason,
  VerdictReasonAnswer,
} from '#contract/reasons.ts'
import { generatedDocuments, withTables } from './reason-codes.ts'

const DOCUMENT = readFileSync('docs/reference/reason-codes.md', 'utf8')

test('docs/reference lists every reason code with its parameters; scripts/reason-codes.ts rewrites it', () => {
  for (const [path, tables] of Object.entries(generatedDocuments())) {
    const document = readFileSync(path, 'utf8')
    expect(document).toBe(withTables(document, tables))
  }
  for (const code of [...Object.keys(VERDICT_REASONS), ...Object.keys(CONFIRMATION_REASONS)]) {
    expect(DOCUMENT).toContain(`| \`${code}\` |`)
  }
})

test('the documented example is a reason with the text of its code', () => {
  const [, json] = /```json\n([\s\S]*?)```/.exec(DOCUMENT)!
  const example: VerdictReason & { text: string } = JSON.parse(json!)
  const isReason = new Ajv({ strict: false }).compile(VerdictReasonAnswer)
  expect([isReason(example), isReason.errors]).toEqual([true, null])
  expect(textOf(example)).toBe(example.text)
})

test('no code is used both for a verdict and for a confirmation', () => {
  const shared = Object.keys(VERDICT_REASONS).filter((code) => code in CONFIRMATION_REASONS)
  expect(shared).toEqual(['unclassified'])
})

test('each field error template is a sentence that uses its parameters', () => {
  for (const [code, { params, text }] of Object.entries(FIELD_ERRORS)) {
    const given = Object.fromEntries(params.map((name) => [name, `<${name}>`]))
    const sentence = (text as (params: object) => string)(given)
    expect([code, sentence]).toEqual([code, expect.stringMatching(/\.$/)])
    const unused = params.filter((name) => !sentence.includes(`<${name}>`) && name !== 'resource')
    expect([code, unused]).toEqual([code, []])
  }
})
