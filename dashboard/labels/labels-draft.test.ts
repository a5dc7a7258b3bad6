import { expect, test } from 'vitest'
import { changedPart } from '../edit/rebase.ts'
import { LABEL_FIELDS, type LabelsDraft, labelsDraftOf, parsePairs } from './labels-draft.ts'

const stored = { external_id: 'customer-300/www', tags: ['prod', 'eu'], metadata: { customer: 'acme', note: 'a=b' } }
const draft = labelsDraftOf(stored)
const changeTo = (other: LabelsDraft) => changedPart(LABEL_FIELDS, draft, other)

test('the labels form has tags in one line and one metadata pair per line', () => {
  expect(draft).toEqual({ external_id: 'customer-300/www', tags: 'prod eu', metadata: 'customer=acme\nnote=a=b' })
  expect(labelsDraftOf({})).toEqual({ external_id: '', tags: '', metadata: '' })
})

test('only changed labels are sent, and emptied ones are cleared', () => {
  expect(changeTo(draft)).toEqual({})
  expect(changeTo({ ...draft, tags: 'eu, prod,,eu' })).toEqual({})
  expect(changeTo({ ...draft, metadata: '\nnote = a=b \ncustomer=acme' })).toEqual({})
  expect(changeTo({ external_id: ' ', tags: 'beta', metadata: '' })).toEqual({
    external_id: null,
    tags: ['beta'],
    metadata: {},
  })
})

test('the error names the first invalid line', () => {
  expect(parsePairs('plan=business\ncustomer').problem).toBe('Line 2: write it as key=value.')
  expect(parsePairs('=x').problem).toBe('Line 1: write it as key=value.')
  expect(parsePairs('plan=a\n\nplan=b').problem).toContain('Line 3: the key plan is already used.')
  expect(parsePairs('plan=\n')).toEqual({ pairs: { plan: '' } })
})
