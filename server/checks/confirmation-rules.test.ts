import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { UNDECIDABLE } from '../../simulator/world/undecidable.ts'
import type { Outcome, Reply } from '../dns/outcome.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import type { CheckSoFar, Observation, Recorded } from './check-state.ts'
import { decide, RULES } from './confirmation-rules.ts'
import { fingerprint } from './fingerprint.ts'
import { RESOLVER_RULES } from './resolver-rules.ts'
import { CHANGE_RULES, MEMBER_RULES } from './rotation-rules.ts'
import { SAMPLING_RULES } from './sampling.ts'

const document = await readFile(new URL('../../docs/explanation/checks.md', import.meta.url), 'utf8')

test('the document lists all rules in their order, with their reasons', () => {
  const rows = [...document.matchAll(/^\| \*\*(.+?)\*\* \| (.+) \|$/gm)].map(([, name, rationale]) => [name, rationale])
  const rules = [RULES, RESOLVER_RULES, SAMPLING_RULES, MEMBER_RULES, CHANGE_RULES].flat()
  expect(rows).toEqual(rules.map(({ name, rationale }) => [name, rationale]))
})

test('the document has the rule for each case that nobody can decide, and its share', () => {
  const section = document.slice(document.indexOf('## What cannot be known'), document.indexOf('## Private names'))
  const rows = [...section.matchAll(/^\| (?!Case|---)(.+?) \| .+ \| (.+) % \|$/gm)]
  expect(rows.map(([, name, share]) => [name, Number(share)])).toEqual(
    UNDECIDABLE.map((each) => [each.case, each.maxPercent]),
  )
})

test('the diagram shows each rule once, in their order, and leads to every kind of result', () => {
  const [, diagram = ''] = document.match(/```mermaid\n([\s\S]*?)```/) ?? []
  const shown = [...diagram.matchAll(/\bR\d+\[(.+?)\]/g)].map(([, name]) => name)
  expect(shown).toEqual(RULES.map(({ name }) => name))
  for (const kind of ['unchanged', 'withheld', 'inconclusive', 'verdict']) expect(diagram).toContain(`([${kind}`)
})

const OWNER = 'www.example.test'

function answer(...values: string[]): Outcome {
  return { kind: 'answer', rrset: { name: OWNER, type: 'A', ttl: 60, values }, chain: [] }
}

const SERVFAIL: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [] }

const recorded: Recorded = {
  owner: OWNER,
  recordType: recordTypeOf('A'),
  isExactMatch: true,
  expectedValues: ['192.0.2.1'],
  state: 'VALID',
  values: ['192.0.2.1'],
  fingerprint: fingerprint(answer('192.0.2.1')),
  isRotating: false,
  rotation: null,
  inconclusiveCount: 0,
}

function reply(outcome: Outcome, ip = '192.0.2.201'): Reply {
  const exchange = { transport: 'udp' as const, rcode: null, flags: [], ede: [], ms: 1, outcome }
  return { outcome, evidence: [{ server: `${ip}:53`, ...exchange }] }
}

function given(observations: Observation[], changes: Partial<CheckSoFar> = {}): CheckSoFar {
  const resolvers = [201, 202].map((last) => ({ ip: `192.0.2.${last}`, port: 53 }))
  const capabilities = { resolvers, hasAuthoritativeClient: false, hasNetworkCheck: false, hasValidator: false }
  return { recorded, observations, now: { at: 0, elapsed: 0 }, capabilities, ...changes }
}

const at = { at: 0, elapsed: 0 }
const first = (outcome: Outcome): Observation => ({ query: { purpose: 'first' }, reply: reply(outcome), ...at })

test('a check begins with one query, and the recorded answer ends it', () => {
  expect(decide(given([]))).toEqual({ kind: 'query', queries: [{ purpose: 'first' }] })
  expect(decide(given([first(answer('192.0.2.1'))]))).toEqual({ kind: 'unchanged' })
})

test('an answer that differs is asked of another resolver', () => {
  const step = decide(given([first(answer('192.0.2.9'))]))
  expect(step).toMatchObject({ kind: 'query', queries: [{ purpose: 'retry', servers: [{ ip: '192.0.2.202' }] }] })
})

test('with canaries nothing that differs is looked at before the network is known to work', () => {
  const capabilities = { ...given([]).capabilities, hasNetworkCheck: true, hasValidator: false }
  const observations = [first({ kind: 'timeout' })]
  expect(decide(given(observations, { capabilities }))).toMatchObject({ queries: [{ purpose: 'network' }] })
  const gone: Observation = { query: { purpose: 'network' }, network: 'offline', ...at }
  expect(decide(given([...observations, gone], { capabilities }))).toMatchObject({ kind: 'withheld', afterMs: 5_000 })
})

test('SERVFAIL is asked again of the same resolver with validation switched off', () => {
  const step = decide(given([first(SERVFAIL)]))
  expect(step).toMatchObject({ queries: [{ purpose: 'checking_disabled', servers: [{ ip: '192.0.2.201' }] }] })
})

test('a failure is asked again only after the pause', () => {
  const unvalidated: Observation = {
    query: { purpose: 'checking_disabled', servers: [] },
    reply: reply(SERVFAIL),
    ...at,
    elapsed: 1_000,
  }
  const step = decide(given([first(SERVFAIL), unvalidated]))
  expect(step).toMatchObject({ queries: [{ purpose: 'retry', notBefore: 4_000 }] })
})

test('the same check is decided the same way, however often', () => {
  const check = given([first(answer('192.0.2.9'))])
  const { recordType, ...recorded } = check.recorded
  const copy = structuredClone({ ...check, recorded })
  expect(decide(check)).toEqual(decide({ ...copy, recorded: { ...copy.recorded, recordType } }))
})

test('while too many queries wait for the name servers, one resolver alone makes no verdict before three further checks', () => {
  const capabilities = { ...given([]).capabilities, hasAuthoritativeClient: true }
  const missing: Outcome = { kind: 'nxdomain', chain: [] }
  const again = (ip: string): Observation => ({
    query: { purpose: 'retry', servers: [] },
    reply: reply(missing, ip),
    ...at,
  })
  const roots: Observation = { query: { purpose: 'root_servers' }, rootProblem: undefined, ...at }
  const busy: Observation = { query: { purpose: 'delegation' }, view: undefined, ...at }
  const decideWith = (resolvers: CheckSoFar['capabilities']['resolvers'], second: string, inconclusiveCount = 0) =>
    decide(
      given([first(missing), roots, busy, again(second)], {
        capabilities: { ...capabilities, resolvers },
        recorded: { ...recorded, inconclusiveCount },
      }),
    )
  const { resolvers } = capabilities
  const alone = resolvers.slice(0, 1)
  expect(decideWith(alone, '192.0.2.201')).toMatchObject({
    kind: 'inconclusive',
    confirmation: [{ code: 'name_servers_busy' }],
  })
  expect(decideWith(alone, '192.0.2.201', 3).kind).not.toBe('inconclusive')
  expect(decideWith(resolvers, '192.0.2.202').kind).not.toBe('inconclusive')
})
