import { expect, test } from 'vitest'
import { completionsOf, nameIn, readTokens } from './list-tokens.ts'

test('finished tokens become filters, and names stay in the field', () => {
  expect(readTokens('www state:mismatch type:mx tag:prod customer:acme id:c-300/www group:shop ', {})).toEqual({
    search: {
      state: 'MISMATCH',
      active: 'true',
      type: 'MX',
      tag: 'prod',
      customer: 'acme',
      id: 'c-300/www',
      group: 'shop',
    },
    text: 'www ',
  })
  expect(nameIn('www state:mis')).toBe('www')
  expect(readTokens('tag:prod', {})).toEqual({ search: {}, text: 'tag:prod' })
  expect(readTokens('tag:prod', {}, true)).toEqual({ search: { tag: 'prod' }, text: '' })
})

test('several states and tags add up, each once; of the others the last counts', () => {
  const search = { state: 'MISMATCH', active: 'true', tag: 'prod', type: 'A' }
  expect(readTokens('state:not-found,mismatch tag:eu,prod TYPE:aaaa ', search).search).toEqual({
    state: 'MISMATCH,NOT_FOUND',
    active: 'true',
    tag: 'prod,eu',
    type: 'AAAA',
  })
})

test('a value with spaces is written in quotation marks', () => {
  expect(readTokens('customer:"Acme Inc" ', {}).search).toEqual({ customer: 'Acme Inc' })
  expect(readTokens('customer:"Acme ', {})).toEqual({ search: {}, text: 'customer:"Acme ' })
})

test('an unknown token stays and says what is allowed', () => {
  expect(readTokens('owner:me tag:prod ', {})).toEqual({
    search: { tag: 'prod' },
    text: 'owner:me ',
    problem: '“owner:” is not a filter. Use one of: state: type: tag: customer: id: group:',
  })
  expect(readTokens('state:broken ', {}).problem).toMatch(/^“broken” is not a state\. Use one of: valid, .*not_found/)
  expect(readTokens('type:Q ', {}).problem).toMatch(/^“Q” is not a record type\. Use one of: A, /)
  expect(readTokens('tag: ', {}).problem).toBe('Write a value after “tag:”, without a space.')
})

test.each(['https://www.example.com/', '2001:db8::1', 'fe80::1', 'dead:beef::1', 'localhost:8080'])(
  '%s is a name, not a token',
  (text) => {
    expect(readTokens(text, {}, true)).toEqual({ search: {}, text })
    expect(nameIn(text)).toBe(text)
  },
)

test('keys are completed, then states and types', () => {
  const texts = (text: string) => completionsOf(text).map((each) => each.text)
  expect(texts('')).toEqual(['state:', 'type:', 'tag:', 'customer:', 'id:', 'group:'])
  expect(texts('www t')).toEqual(['www type:', 'www tag:'])
  expect(texts('www state:mis')).toEqual(['www state:mismatch '])
  expect(texts('state:valid,no')).toEqual(['state:valid,not_found ', 'state:valid,no_data '])
  expect(texts('type:aa')).toEqual(['type:AAAA '])
  for (const text of ['www', 'www ', 'tag:p', 'tag:prod ']) expect(texts(text)).toEqual([])
})
