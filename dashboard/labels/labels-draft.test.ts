import { expect, test } from 'vitest'
import { labelsChangeOf, labelsDraftOf, parsePairs } from './labels-draft.ts'

const stored = { external_id: 'customer-300/www', tags: ['prod', 'eu'], metadata: { customer: 'acme', note: 'a=b' } }
const draft = labelsDraftOf(stored)

test('a form of labels shows tags in a line and one pair of metadata each line', () => {
  expect(draft).toEqual({ external_id: 'customer-300/www', tags: 'prod eu', metadata: 'customer=acme\nnote=a=b' })
  expect(labelsDraftOf({})).toEqual({ external_id: '', tags: '', metadata: '' })
})

test('only what differs is sent, and what is emptied is cleared', () => {
  expect(labelsChangeOf(stored, draft)).toEqual({})
  expect(labelsChangeOf(stored, { ...draft, tags: 'eu, prod,,eu' })).toEqual({})
  expect(labelsChangeOf(stored, { ...draft, metadata: '\nnote = a=b \ncustomer=acme' })).toEqual({})
  expect(labelsChangeOf(stored, { external_id: ' ', tags: 'beta', metadata: '' })).toEqual({
    external_id: null,
    tags: ['beta'],
    metadata: {},
  })
})

test('lines that are no pairs are named, the first of them', () => {
  expect(parsePairs('plan=business\ncustomer').problem).toBe('Line 2: write it as key=value.')
  expect(parsePairs('=x').problem).toBe('Line 1: write it as key=value.')
  expect(parsePairs('plan=a\n\nplan=b').problem).toContain('Line 3: the key plan is already used.')
  expect(parsePairs('plan=\n')).toEqual({ pairs: { plan: '' } })
})
