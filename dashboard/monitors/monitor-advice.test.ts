import { expect, test } from 'vitest'
import type { Diagnosis, DiagnosisPath } from '#contract/diagnosis.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { adviceFor } from './monitor-advice.ts'

const none = { missing: [], extra: [] }
const watched = {
  domain: 'example.com',
  subdomain: 'www',
  record_type: 'A' as const,
  expected_value: ['192.0.2.1'],
  current_value: [],
  is_active: true,
  is_exact_match: true,
}

const inState = (state: MonitorState, more: object = {}) => ({ ...watched, ...more, state })

function foundBy(outcome: DiagnosisPath['outcome'], server = '192.0.2.53:53', name?: string): Diagnosis {
  const path: DiagnosisPath = {
    server,
    path: name ? 'authoritative' : 'recursive',
    transport: 'udp',
    rcode: null,
    flags: [],
    ede: [],
    ms: 1,
    outcome,
  }
  const verdict = { code: 'unclassified' as const, params: { text: '' }, text: '' }
  return { reason: '', verdict, decided: '', confirmation: [], paths: [name ? { ...path, name } : path] }
}

test('missing records are to be added, and extra ones removed', () => {
  const { title, add, remove, steps } = adviceFor(
    inState('MISMATCH', { current_value: ['198.51.100.7'] }),
    { missing: ['192.0.2.1'], extra: ['198.51.100.7'] },
    undefined,
  )
  expect([title, add, remove]).toEqual(['Replace the records', ['192.0.2.1'], ['198.51.100.7']])
  expect(steps[0]).toBe('Change the A record of www.example.com at your DNS provider.')
})

test('an extra record alone is removed, and a missing one alone is added', () => {
  const extra = adviceFor(inState('MISMATCH'), { missing: [], extra: ['198.51.100.7'] }, undefined)
  expect([extra.title, extra.add, extra.remove]).toEqual(['Remove the unexpected records', [], ['198.51.100.7']])
  const missing = adviceFor(inState('MISMATCH'), { missing: ['192.0.2.1'], extra: [] }, undefined)
  expect([missing.title, missing.add, missing.remove]).toEqual(['Add the missing records', ['192.0.2.1'], []])
})

test('a wrong CNAME is removed in flexible mode too, because a name has only one', () => {
  const monitor = inState('MISMATCH', { record_type: 'CNAME', is_exact_match: false, current_value: ['old.example'] })
  expect(adviceFor(monitor, { missing: ['new.example'], extra: [] }, undefined)).toMatchObject({
    title: 'Replace the records',
    remove: ['old.example'],
  })
})

test('a missing name is to be created with the expected records', () => {
  const { title, add, steps } = adviceFor(inState('NOT_FOUND'), none, foundBy({ kind: 'nxdomain', chain: [] }))
  expect([title, add]).toEqual(['Create the name', ['192.0.2.1']])
  expect(steps[0]).toContain('Create www.example.com')
})

test('a missing domain points to the registrar, and a reverse name to the provider of the address', () => {
  expect(adviceFor(inState('NOT_FOUND', { subdomain: '' }), none, undefined).title).toBe('Restore the domain')
  const reverse = inState('NOT_FOUND', { record_type: 'PTR', domain: '2.0.192.in-addr.arpa', subdomain: '1' })
  expect(adviceFor(reverse, none, undefined).steps[0]).toContain('the hosting or network provider of the address')
  expect(adviceFor(inState('MISMATCH', { record_type: 'NS' }), none, undefined).steps[0]).toContain('registrar')
})

test('a broken CNAME chain names its end', () => {
  const chain = [{ name: 'www.example.com', target: 'gone.example', ttl: 60 }]
  for (const [state, kind] of [['NOT_FOUND', 'nxdomain'] as const, ['NO_DATA', 'nodata'] as const]) {
    const { title, steps } = adviceFor(inState(state), none, foundBy({ kind, chain }))
    expect(title).toBe('Fix the CNAME or its target')
    expect(steps[0]).toContain('The CNAME chain www.example.com → gone.example ends at a name ')
    expect(steps[1]).toContain('Point the CNAME of www.example.com to')
  }
})

test('after a CNAME, the record to change is that of the target', () => {
  const answer = {
    kind: 'answer' as const,
    rrset: { name: 'edge.example', type: 'A', ttl: 60, values: ['198.51.100.7'] },
  }
  const difference = { missing: ['192.0.2.1'], extra: ['198.51.100.7'] }
  const [shop, edge] = [
    { name: 'www.example.com', target: 'shop.example', ttl: 60 },
    { name: 'shop.example', target: 'edge.example', ttl: 60 },
  ] as const
  const whole = foundBy({ ...answer, chain: [shop, edge] })
  const referral = foundBy(
    { kind: 'referral', chain: [shop, edge], nameServers: [], glue: [], ttl: 60 },
    '192.0.2.53:53',
    'ns1.example.com',
  )
  const inParts = { ...referral, paths: [...referral.paths, ...foundBy({ ...answer, chain: [] }).paths] }
  for (const found of [whole, inParts]) {
    expect(adviceFor(inState('MISMATCH'), difference, found).steps).toEqual([
      'The records are at the end of the CNAME chain www.example.com → shop.example → edge.example.',
      'Change the A record of edge.example, or point the CNAME of shop.example to another name.',
    ])
  }
  const bogus = foundBy({ kind: 'failure', rcode: 'SERVFAIL', ede: [], bogus: true })
  const failing = { ...bogus, paths: [...referral.paths, ...bogus.paths] }
  expect(adviceFor(inState('INVALID'), none, failing).steps[0]).toContain('DNSSEC validation of edge.example')
})

test('a monitored CNAME record is itself the one to change', () => {
  const rrset = { name: 'www.example.com', type: 'CNAME', ttl: 60, values: ['old.example'] }
  const found = foundBy({ kind: 'answer', rrset, chain: [{ name: 'old.example', target: 'edge.example', ttl: 60 }] })
  const { steps } = adviceFor(
    inState('MISMATCH', { record_type: 'CNAME' }),
    { missing: ['new.example'], extra: ['old.example'] },
    found,
  )
  expect(steps).toEqual(['Change the CNAME record of www.example.com at your DNS provider.'])
})

test('unresponsive name servers are named', () => {
  const { steps } = adviceFor(
    inState('TIMEOUT'),
    none,
    foundBy({ kind: 'timeout' }, '192.0.2.53:53', 'ns1.example.com'),
  )
  expect(steps[0]).toContain(': ns1.example.com.')
  const echo = adviceFor(inState('TIMEOUT'), none, foundBy({ kind: 'timeout' }))
  expect(echo.steps[0]).toContain('that the name servers of example.com run')
})

test('each kind of failure has its own advice', () => {
  const titleFor = (outcome: DiagnosisPath['outcome']) => adviceFor(inState('INVALID'), none, foundBy(outcome)).title
  expect(titleFor({ kind: 'failure', rcode: 'SERVFAIL', ede: [], bogus: true })).toBe('Fix DNSSEC')
  expect(titleFor({ kind: 'failure', rcode: 'REFUSED', ede: [] })).toBe('Correct the name servers')
  expect(titleFor({ kind: 'failure', rcode: 'SERVFAIL', ede: [] })).toBe('Check the zone')
  expect(titleFor({ kind: 'malformed', reason: 'short' })).toBe('Contact your DNS provider')
})

test('the expected one of several SPF records is kept', () => {
  const values = ['v=spf1 -all', 'v=spf1 mx -all', 'other']
  const monitor = inState('BAD_SETUP', { record_type: 'SPF', expected_value: ['v=spf1 mx -all'] })
  const found = foundBy({ kind: 'answer', rrset: { name: 'example.com', type: 'TXT', ttl: 60, values }, chain: [] })
  expect(adviceFor(monitor, none, found)).toMatchObject({ title: 'Keep one SPF record', remove: ['v=spf1 -all'] })
})

test('a lame delegation and a CNAME loop have different advice', () => {
  const lame = foundBy({ kind: 'lame', zone: 'example.com', nameServers: [], reason: 'no server knows it' })
  expect(adviceFor(inState('BAD_SETUP'), none, lame).title).toBe('Correct the name servers')
  expect(adviceFor(inState('BAD_SETUP'), none, foundBy({ kind: 'cname_loop', chain: [] })).title).toBe(
    'Break the CNAME loop',
  )
})

test('valid and unchecked monitors need no action', () => {
  expect(adviceFor(inState('VALID'), none, undefined).title).toBe('No action needed')
  expect(adviceFor(inState('UNSET'), none, undefined).title).toBe('First check in progress')
  expect(adviceFor(inState('UNSET', { is_active: false }), none, undefined).title).toBe('Enable the monitor')
})
