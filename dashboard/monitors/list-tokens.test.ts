import { expect, test } from 'vitest'
import { completionsOf, groupsAsked, type Known, labelsAsked, nameIn, readTokens } from './list-tokens.ts'

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

test('an expected value, an external id and metadata are filters too', () => {
  const text = 'value:198.51 external_id:c-1 METADATA.Plan:"very big" metadata.a.b:1 '
  expect(readTokens(text, {})).toEqual({
    search: { value: '198.51', id: 'c-1', 'metadata.Plan': 'very big', 'metadata.a.b': '1' },
    text: '',
  })
  expect(readTokens('value:19 ', {}).problem).toBe('Write at least 3 characters after “value:”.')
  expect(readTokens('metadata.plan: ', {}).problem).toBe('Write a value after “metadata.plan:”, without a space.')
})

test('an unknown token stays and says what is allowed', () => {
  expect(readTokens('owner:me tag:prod ', {})).toEqual({
    search: { tag: 'prod' },
    text: 'owner:me ',
    problem:
      '“owner:” is not a filter. Use one of: state: type: value: tag: customer: group: external_id: metadata.key:',
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

test('tags, groups and metadata are completed with what there is', () => {
  const known = (labels: string[], groups: Known['groups'] = []) => ({ labels, groups })
  const texts = (text: string, given: Known) => completionsOf(text, given).map((each) => each.text)
  expect(labelsAsked('www tag:eu,pr')).toEqual({ of: 'tag', begin: 'pr' })
  expect(texts('www tag:eu,pr', known(['prod', 'preview', 'old']))).toEqual(['www tag:eu,prod ', 'www tag:eu,preview '])
  expect(labelsAsked('customer:"Acme ')).toEqual({ of: 'metadata.customer', begin: 'Acme' })
  expect(texts('customer:A', known(['Acme', 'Acme Inc', 'Acme "A"']))).toEqual([
    'customer:Acme ',
    'customer:"Acme Inc" ',
  ])
  expect(labelsAsked('metadata.pl')).toEqual({ of: 'metadata', begin: 'pl' })
  expect(texts('metadata.pl', known(['plan', 'planet', 'x']))).toEqual(['metadata.plan:', 'metadata.planet:'])
  expect(labelsAsked('metadata.Plan:b')).toEqual({ of: 'metadata.Plan', begin: 'b' })
  expect(texts('metadata.Plan:b', known(['big']))).toEqual(['metadata.Plan:big '])
  expect(groupsAsked('www group:sh')).toBe('sh')
  const groups = [
    { slug: 'shop', name: 'Shop' },
    { slug: 'g2', name: 'Sharks' },
    { slug: 'g3', name: 'Other' },
  ]
  expect(texts('group:SH', known([], groups))).toEqual(['group:shop ', 'group:g2 '])
  for (const text of ['www', 'state:mis', 'tag:prod ', '', 'value:198']) {
    expect([labelsAsked(text), groupsAsked(text)]).toEqual([undefined, undefined])
  }
})

test('keys are completed, then states and types', () => {
  const texts = (text: string) => completionsOf(text).map((each) => each.text)
  expect(texts('')).toEqual(['state:', 'type:', 'value:', 'tag:', 'customer:', 'group:', 'external_id:', 'metadata.'])
  expect(texts('www t')).toEqual(['www type:', 'www tag:'])
  expect(texts('www state:mis')).toEqual(['www state:mismatch '])
  expect(texts('state:valid,no')).toEqual(['state:valid,not_found ', 'state:valid,no_data '])
  expect(texts('type:aa')).toEqual(['type:AAAA '])
  for (const text of ['www', 'www ', 'tag:p', 'tag:prod ']) expect(texts(text)).toEqual([])
})
