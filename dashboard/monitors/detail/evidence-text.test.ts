import { expect, test } from 'vitest'
import type { DiagnosisPath } from '#contract/diagnosis.ts'
import { answerText, chainNames } from './evidence-text.ts'

const textOnly = (outcome: DiagnosisPath['outcome']) =>
  answerText({
    server: '192.0.2.53:53',
    path: 'recursive',
    transport: 'udp',
    rcode: null,
    flags: [],
    ede: [],
    ms: 1,
    outcome,
  })

test('an answer has values with a TTL; other outcomes are a sentence', () => {
  const rrset = { name: 'example.com', type: 'A', ttl: 60, values: ['192.0.2.1'] }
  expect(textOnly({ kind: 'answer', rrset, chain: [] })).toEqual({
    text: '',
    values: ['192.0.2.1'],
    ttl: 60,
    chain: [],
  })
  expect(textOnly(null).text).toContain('repeated the query over TCP')
  expect(textOnly({ kind: 'timeout' }).text).toBe('Timeout.')
  expect(textOnly({ kind: 'lame', zone: 'example.com', nameServers: [], reason: 'no server knows it' }).text).toBe(
    'No server knows it.',
  )
  expect(textOnly({ kind: 'failure', rcode: 'REFUSED', ede: [] }).text).toBe('The server refuses the query.')
  expect(textOnly({ kind: 'failure', rcode: 'SERVFAIL', ede: [], bogus: true }).text).toContain('DNSSEC')
  expect(textOnly({ kind: 'unreachable', reason: 'ECONNREFUSED' }).text).toBe('Connection refused (ECONNREFUSED).')
  expect(textOnly({ kind: 'unreachable', reason: 'EPERM' }).text).toBe('Unreachable (EPERM).')
  expect(textOnly({ kind: 'failure', rcode: 'YXDOMAIN', ede: [] }).text).toBe('The server could not answer.')
  expect(textOnly({ kind: 'referral', chain: [], nameServers: ['ns1.example.com'], glue: [], ttl: 60 })).toMatchObject({
    values: ['ns1.example.com'],
  })
})

test('a queried CNAME record is the first link of the chain', () => {
  const rrset = { name: 'www.example.com', type: 'CNAME', ttl: 60, values: ['shop.example'] }
  expect(textOnly({ kind: 'answer', rrset, chain: [] })).toMatchObject({
    values: [],
    chain: [{ name: 'www.example.com', target: 'shop.example', ttl: 60 }],
  })
})

test('a CNAME chain lists its names', () => {
  const chain = [
    { name: 'www.example.com', target: 'shop.example', ttl: 300 },
    { name: 'shop.example', target: '', ttl: 60 },
  ]
  expect(chainNames(chain)).toEqual([
    { name: 'www.example.com', ttl: 300 },
    { name: 'shop.example', ttl: 60 },
    { name: '.', ttl: undefined },
  ])
  expect(chainNames([])).toEqual([])
})
