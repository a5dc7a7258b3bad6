import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classifyResponse } from './classify-response.ts'
import type { Message, ResourceRecord } from './messages.ts'
import type { Question, QuestionType } from './outcome.ts'

const question: Question = { name: 'www.example.com', type: 'A' }

function record(name: string, type: QuestionType, value: string, ttl = 300): ResourceRecord {
  return { name, type, ttl, value }
}

function message(parts: Partial<Message>): Message {
  return { rcode: 'NOERROR', flags: ['rd', 'ra'], ede: [], answer: [], authority: [], additional: [], ...parts }
}

const soa = record('example.com', 'SOA', 'ns.example.com hostmaster.example.com 1 2 3 4 5')
const links = Array.from({ length: 18 }, (_, at) =>
  record(`n${at}.example.com`, 'CNAME', `n${at + 1}.example.com`, 100 + at),
)
const first: Question = { name: 'n0.example.com', type: 'A' }

test('the RRset is sorted, without duplicates, with its lowest TTL', () => {
  const answer = [
    record('www.example.com', 'A', '192.0.2.2', 60),
    record('www.example.com', 'A', '192.0.2.1', 300),
    record('www.example.com', 'A', '192.0.2.2', 30),
    record('other.example.com', 'A', '192.0.2.9', 1),
  ]
  const rrset = { name: 'www.example.com', type: 'A', ttl: 30, values: ['192.0.2.1', '192.0.2.2'] }
  expect(classifyResponse(message({ answer }), question)).toEqual({ kind: 'answer', rrset, chain: [] })
})

test('of a CNAME record and others at one name, what comes first is followed, as resolvers do', () => {
  const cname = record('www.example.com', 'CNAME', 'real.example.com')
  const own = record('www.example.com', 'A', '192.0.2.138')
  const target = record('real.example.com', 'A', '192.0.2.1')
  const chain = [{ name: 'www.example.com', target: 'real.example.com', ttl: 300 }]
  const values = (answer: ResourceRecord[]) => classifyResponse(message({ answer }), question)
  expect(values([cname, own, target])).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] }, chain })
  expect(values([target, cname, own])).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.1'] }, chain })
  expect(values([cname, own])).toMatchObject({ kind: 'referral', chain })
  expect(values([own, cname, target])).toMatchObject({ kind: 'answer', rrset: { values: ['192.0.2.138'] }, chain: [] })
})

test('an alias chain is followed whatever the order of the records', () => {
  const answer = [...links.slice(0, 16), record('n16.example.com', 'A', '192.0.2.1')]
  fc.assert(
    fc.property(fc.shuffledSubarray(answer, { minLength: answer.length }), (shuffled) => {
      const outcome = classifyResponse(message({ answer: shuffled }), first)
      if (outcome.kind !== 'answer') throw new Error(outcome.kind)
      expect(outcome.rrset).toMatchObject({ name: 'n16.example.com', values: ['192.0.2.1'] })
      expect(outcome.chain.map((link) => link.target)).toEqual(links.slice(0, 16).map((link) => link.value))
    }),
  )
})

test('a chain of more than 16 CNAME records is a loop', () => {
  const answer = [...links.slice(0, 17), record('n17.example.com', 'A', '192.0.2.1')]
  expect(classifyResponse(message({ answer }), first).kind).toBe('cname_loop')
})

test('a loop is a loop, also one that does not come back to its start', () => {
  const answer = [...links.slice(0, 3), record('n3.example.com', 'CNAME', 'n2.example.com')]
  const outcome = classifyResponse(message({ answer }), first)
  expect(outcome).toMatchObject({ kind: 'cname_loop', chain: { length: 4 } })
})

test('a name with two aliases cannot be followed', () => {
  const answer = [record('www.example.com', 'CNAME', 'a.example'), record('www.example.com', 'CNAME', 'b.example')]
  expect(classifyResponse(message({ answer }), question).kind).toBe('malformed')
})

describe('a question for an alias is answered by the first one', () => {
  test('and the further chain comes with it', () => {
    const outcome = classifyResponse(message({ answer: links.slice(0, 3) }), { ...first, type: 'CNAME' })
    expect(outcome).toMatchObject({ kind: 'answer', rrset: { type: 'CNAME', values: ['n1.example.com'] } })
    expect(outcome.kind === 'answer' && outcome.chain.map((link) => link.name)).toEqual([
      'n1.example.com',
      'n2.example.com',
    ])
  })

  test('both of two are shown', () => {
    const answer = [record('www.example.com', 'CNAME', 'b.example'), record('www.example.com', 'CNAME', 'a.example')]
    const outcome = classifyResponse(message({ answer }), { ...question, type: 'CNAME' })
    expect(outcome).toMatchObject({ kind: 'answer', rrset: { values: ['a.example', 'b.example'] } })
  })

  test('also when its target does not exist', () => {
    const outcome = classifyResponse(message({ rcode: 'NXDOMAIN', answer: links.slice(0, 1) }), {
      ...first,
      type: 'CNAME',
    })
    expect(outcome.kind).toBe('answer')
  })
})

describe('without records of the type', () => {
  const chain = [{ name: 'n0.example.com', target: 'n1.example.com', ttl: 100 }]

  test('NXDOMAIN keeps the chain that led there', () => {
    const outcome = classifyResponse(message({ rcode: 'NXDOMAIN', answer: links.slice(0, 1), authority: [soa] }), first)
    expect(outcome).toEqual({ kind: 'nxdomain', chain })
  })

  test('NODATA keeps the chain that led there', () => {
    const outcome = classifyResponse(message({ answer: links.slice(0, 1), authority: [soa] }), first)
    expect(outcome).toEqual({ kind: 'nodata', chain })
  })

  test('NODATA needs no SOA', () => {
    expect(classifyResponse(message({}), question)).toEqual({ kind: 'nodata', chain: [] })
    expect(classifyResponse(message({ flags: [] }), question)).toEqual({ kind: 'nodata', chain: [] })
  })

  test('NS records beside a recursive answer are no referral', () => {
    const authority = [record('example.com', 'NS', 'ns.example.com')]
    expect(classifyResponse(message({ authority }), question).kind).toBe('nodata')
    expect(classifyResponse(message({ authority, flags: ['aa'] }), question).kind).toBe('nodata')
  })

  test('a referral names the zone, its servers and their addresses', () => {
    const authority = [record('example.com', 'NS', 'ns2.example.com'), record('example.com', 'NS', 'ns1.example.com')]
    const additional = [record('ns1.example.com', 'AAAA', '2001:db8::1'), record('evil.example', 'A', '192.0.2.66')]
    expect(classifyResponse(message({ authority, additional, flags: [] }), question)).toEqual({
      kind: 'referral',
      chain: [],
      zone: 'example.com',
      nameServers: ['ns1.example.com', 'ns2.example.com'],
      glue: [{ name: 'ns1.example.com', ip: '2001:db8::1' }],
      ttl: 300,
    })
  })

  test('a server that would recurse for others refers when it was not asked to recurse', () => {
    const authority = [record('example.com', 'NS', 'ns1.example.com')]
    expect(classifyResponse(message({ authority, flags: ['ra'] }), question).kind).toBe('referral')
  })

  test('a referral to a zone that does not hold the name is malformed', () => {
    const authority = [record('ample.com', 'NS', 'ns.ample.com')]
    expect(classifyResponse(message({ authority, flags: [] }), question).kind).toBe('malformed')
  })

  test('a chain that breaks off refers to its last name', () => {
    const outcome = classifyResponse(message({ answer: links.slice(0, 1) }), first)
    expect(outcome).toEqual({ kind: 'referral', chain, zone: undefined, nameServers: [], glue: [], ttl: 0 })
  })

  test('an answer about another name is malformed', () => {
    const answer = [record('www.example.org', 'A', '192.0.2.1')]
    expect(classifyResponse(message({ answer }), question).kind).toBe('malformed')
  })

  test('NXDOMAIN with an answer is malformed', () => {
    const answer = [record('www.example.com', 'A', '192.0.2.1')]
    expect(classifyResponse(message({ rcode: 'NXDOMAIN', answer }), question).kind).toBe('malformed')
  })
})

test('a failure keeps its code and its extended errors', () => {
  const ede = [{ code: 6, text: 'signature expired' }]
  expect(classifyResponse(message({ rcode: 'SERVFAIL', ede }), question)).toEqual({
    kind: 'failure',
    rcode: 'SERVFAIL',
    ede,
  })
})
