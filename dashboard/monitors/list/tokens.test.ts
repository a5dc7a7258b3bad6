import { expect, test } from 'vitest'
import {
  completionsFor,
  groupQueryFor,
  labelQueryFor,
  monitorQueryFor,
  readTokens,
  type Suggestions,
  searchText,
} from './tokens.ts'

test('complete tokens become filters, and other text stays in the field', () => {
  expect(
    readTokens('www state:mismatch type:mx tag:prod customer:acme id:c-300/www group:shop incident:inc_1 ', {}),
  ).toEqual({
    search: {
      state: 'MISMATCH',
      active: 'true',
      type: 'MX',
      tag: 'prod',
      customer: 'acme',
      id: 'c-300/www',
      group: 'shop',
      incident: 'inc_1',
    },
    text: 'www ',
  })
  expect(searchText('www state:mis')).toBe('www')
  expect(readTokens('tag:prod', {})).toEqual({ search: {}, text: 'tag:prod' })
  expect(readTokens('tag:prod', {}, true)).toEqual({ search: { tag: 'prod' }, text: '' })
})

test('states and tags accumulate, and other filters are replaced', () => {
  const search = { state: 'MISMATCH', active: 'true', tag: 'prod', type: 'A' }
  expect(readTokens('state:not-found,mismatch tag:eu,prod TYPE:aaaa ', search).search).toEqual({
    state: 'MISMATCH,NOT_FOUND',
    active: 'true',
    tag: 'prod,eu',
    type: 'AAAA',
  })
})

test('a value with spaces is typed in quotation marks', () => {
  expect(readTokens('customer:"Acme Inc" ', {}).search).toEqual({ customer: 'Acme Inc' })
  expect(readTokens('customer:"Acme ', {})).toEqual({ search: {}, text: 'customer:"Acme ' })
})

test('an expected value, an external id and metadata are filters too', () => {
  const text = 'value:198.51 external_id:c-1 METADATA.Plan:"very big" metadata.a.b:1 '
  expect(readTokens(text, {})).toEqual({
    search: { value: '198.51', id: 'c-1', 'metadata.Plan': 'very big', 'metadata.a.b': '1' },
    text: '',
  })
  expect(readTokens('value:19 ', {}).problem).toBe('Enter at least 3 characters after “value:”.')
  expect(readTokens('metadata.plan: ', {}).problem).toBe('Enter a value after “metadata.plan:”, without a space.')
})

test('an unknown token stays in the field, and the error says what is allowed', () => {
  expect(readTokens('owner:me tag:prod ', {})).toEqual({
    search: { tag: 'prod' },
    text: 'owner:me ',
    problem:
      '“owner:” is not a filter. Use one of: state: type: value: tag: customer: group: incident: external_id: metadata.key:',
  })
  expect(readTokens('state:broken ', {}).problem).toMatch(/^“broken” is not a state\. Use one of: valid, .*not_found/)
  expect(readTokens('type:Q ', {}).problem).toMatch(/^“Q” is not a record type\. Use one of: A, /)
  expect(readTokens('tag: ', {}).problem).toBe('Enter a value after “tag:”, without a space.')
})

test.each(['https://www.example.com/', '2001:db8::1', 'fe80::1', 'dead:beef::1', 'localhost:8080'])(
  '%s is a name, not a token',
  (text) => {
    expect(readTokens(text, {}, true)).toEqual({ search: {}, text })
    expect(searchText(text)).toBe(text)
  },
)

test('tags, groups and metadata are completed with existing ones', () => {
  const known = (labels: string[], groups: Suggestions['groups'] = []) => ({ labels, groups, monitors: [] })
  const texts = (text: string, given: Suggestions) => completionsFor(text, given).map((each) => each.text)
  expect(labelQueryFor('www tag:eu,pr')).toEqual({ of: 'tag', begin: 'pr' })
  expect(texts('www tag:eu,pr', known(['prod', 'preview', 'old']))).toEqual(['www tag:eu,prod ', 'www tag:eu,preview '])
  expect(labelQueryFor('customer:"Acme ')).toEqual({ of: 'metadata.customer', begin: 'Acme' })
  expect(texts('customer:A', known(['Acme', 'Acme Inc', 'Acme "A"']))).toEqual([
    'customer:Acme ',
    'customer:"Acme Inc" ',
  ])
  expect(labelQueryFor('metadata.pl')).toEqual({ of: 'metadata', begin: 'pl' })
  expect(texts('metadata.pl', known(['plan', 'planet', 'x']))).toEqual(['metadata.plan:', 'metadata.planet:'])
  expect(labelQueryFor('metadata.Plan:b')).toEqual({ of: 'metadata.Plan', begin: 'b' })
  expect(texts('metadata.Plan:b', known(['big']))).toEqual(['metadata.Plan:big '])
  expect(groupQueryFor('www group:sh')).toBe('sh')
  const groups = [
    { slug: 'shop', name: 'Shop' },
    { slug: 'g2', name: 'Sharks' },
    { slug: 'g3', name: 'Other' },
  ]
  expect(texts('group:SH', known([], groups))).toEqual(['group:shop ', 'group:g2 '])
  for (const text of ['www', 'state:mis', 'tag:prod ', '', 'value:198']) {
    expect([labelQueryFor(text), groupQueryFor(text)]).toEqual([undefined, undefined])
  }
})

test('customers are completed with groups too, and values and external ids with those of monitors', () => {
  const texts = (text: string, given: Partial<Suggestions>) =>
    completionsFor(text, { labels: [], groups: [], monitors: [], ...given }).map((each) => [each.label, each.hint])
  const groups = [
    { slug: 'acme', name: 'Acme Inc', external_id: 'crm-300' },
    { slug: 'crm', name: 'CRM', external_id: null },
  ]
  expect([groupQueryFor('customer:30'), labelQueryFor('customer:30')?.of]).toEqual(['30', 'metadata.customer'])
  expect(texts('customer:30', { labels: ['300', '3000'], groups })).toEqual([
    ['300', ''],
    ['3000', ''],
    ['crm-300', 'Acme Inc'],
  ])
  const monitors = [
    { expected_value: ['198.51.100.7', '192.0.2.1', 'v="1"'], external_id: 'CRM-1' },
    { expected_value: ['198.51.100.7', 'v=spf1 ip4:198.51.100.0/24 -all'], external_id: null },
  ]
  expect(monitorQueryFor('www value:198')).toEqual({ value: '198' })
  expect(texts('value:198', { monitors }).flat()).toEqual(['198.51.100.7', '', 'v=spf1 ip4:198.51.100.0/24 -all', ''])
  expect(completionsFor('value:spf', { labels: [], groups: [], monitors })[0]!.text).toBe(
    'value:"v=spf1 ip4:198.51.100.0/24 -all" ',
  )
  expect(monitorQueryFor('external_id:crm')).toEqual({ search: 'crm' })
  expect(texts('external_id:crm', { monitors }).flat()).toEqual(['CRM-1', ''])
  for (const text of ['value:19', 'external_id:cr', 'value:198 ', 'tag:prod', 'www']) {
    expect(monitorQueryFor(text)).toBeUndefined()
  }
})

test('keys are completed, then states and types', () => {
  const texts = (text: string) => completionsFor(text).map((each) => each.text)
  expect(texts('')).toEqual([
    'state:',
    'type:',
    'value:',
    'tag:',
    'customer:',
    'group:',
    'incident:',
    'external_id:',
    'metadata.',
  ])
  expect(texts('www t')).toEqual(['www type:', 'www tag:'])
  expect(texts('www state:mis')).toEqual(['www state:mismatch '])
  expect(texts('state:valid,no')).toEqual(['state:valid,not_found ', 'state:valid,no_data '])
  expect(texts('type:aa')).toEqual(['type:AAAA '])
  for (const text of ['www', 'www ', 'tag:p', 'tag:prod ']) expect(texts(text)).toEqual([])
})
