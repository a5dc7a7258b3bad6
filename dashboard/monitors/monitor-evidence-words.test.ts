import { expect, test } from 'vitest'
import type { DiagnosisPath } from '#contract/diagnosis.ts'
import { chainOf, saidBy } from './monitor-evidence-words.ts'

const said = (outcome: DiagnosisPath['outcome']) =>
  saidBy({
    server: '192.0.2.53:53',
    path: 'recursive',
    transport: 'udp',
    rcode: null,
    flags: [],
    ede: [],
    ms: 1,
    outcome,
  })

test('an answer is its values with their TTL; anything else is a sentence', () => {
  const rrset = { name: 'example.com', type: 'A', ttl: 60, values: ['192.0.2.1'] }
  expect(said({ kind: 'answer', rrset, chain: [] })).toEqual({ words: '', values: ['192.0.2.1'], ttl: 60, chain: [] })
  expect(said(null).words).toContain('repeated the query over TCP')
  expect(said({ kind: 'timeout' }).words).toBe('Timeout.')
  expect(said({ kind: 'lame', zone: 'example.com', nameServers: [], reason: 'no server knows it' }).words).toBe(
    'No server knows it.',
  )
  expect(said({ kind: 'failure', rcode: 'REFUSED', ede: [] }).words).toBe('The server refuses the query.')
  expect(said({ kind: 'failure', rcode: 'SERVFAIL', ede: [], bogus: true }).words).toContain('DNSSEC')
  expect(said({ kind: 'unreachable', reason: 'ECONNREFUSED' }).words).toBe('Connection refused (ECONNREFUSED).')
  expect(said({ kind: 'unreachable', reason: 'EPERM' }).words).toBe('Unreachable (EPERM).')
  expect(said({ kind: 'failure', rcode: 'YXDOMAIN', ede: [] }).words).toBe('The server could not answer.')
  expect(said({ kind: 'referral', chain: [], nameServers: ['ns1.example.com'], glue: [], ttl: 60 })).toMatchObject({
    values: ['ns1.example.com'],
  })
})

test('an alias that was asked for itself is drawn as the first link', () => {
  const rrset = { name: 'www.example.com', type: 'CNAME', ttl: 60, values: ['shop.example'] }
  expect(said({ kind: 'answer', rrset, chain: [] })).toMatchObject({
    values: [],
    chain: [{ name: 'www.example.com', target: 'shop.example', ttl: 60 }],
  })
})

test('an alias chain is the names it leads through', () => {
  const chain = [
    { name: 'www.example.com', target: 'shop.example', ttl: 300 },
    { name: 'shop.example', target: '', ttl: 60 },
  ]
  expect(chainOf(chain)).toEqual([
    { name: 'www.example.com', ttl: 300 },
    { name: 'shop.example', ttl: 60 },
    { name: '.', ttl: undefined },
  ])
  expect(chainOf([])).toEqual([])
})
