import { expect, test } from 'vitest'
import type { Validity } from '../dns/dnssec-validator.ts'
import type { Exchange, Outcome, Reply } from '../dns/outcome.ts'
import type { RootProblem } from '../dns/resolver/root-servers.ts'
import type { ZoneView } from '../dns/resolver/zone-view.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import type { Capabilities, Observation, Query, Recorded, Step } from './check-state.ts'
import { decide } from './confirmation-rules.ts'
import { fingerprint } from './fingerprint.ts'
import { newRotation, type Rotation } from './rotation.ts'

// Each of these rules was wrong where packets are lost, a network ends and begins, or servers differ: what the simulator found, without its worlds.

const NAME = 'www.example.test'
const AT = Date.UTC(2026, 10, 22)
const RESOLVERS = ['192.0.2.53', '192.0.2.54'].map((ip) => ({ ip, port: 53 }))
const SERVFAIL: Outcome = { kind: 'failure', rcode: 'SERVFAIL', ede: [] }
const TIMEOUT: Outcome = { kind: 'timeout' }

function answer(type: 'A' | 'TXT' | 'NS', ...values: string[]): Outcome & { kind: 'answer' } {
  return { kind: 'answer', rrset: { name: NAME, type, ttl: 60, values: values.sort() }, chain: [] }
}

function exchange(outcome: Outcome, server: string, ede: Exchange['ede'] = []): Exchange {
  const rcode = outcome.kind === 'failure' ? outcome.rcode : 'NOERROR'
  return { server, transport: 'udp', rcode, flags: [], ede, ms: 1, outcome }
}

/** What a query brings. Only what a test needs is given; a query that it did not expect fails it. */
type World = {
  nameServers?: string[]
  resolver?: (query: Query, nth: number) => { outcome: Outcome; ede?: Exchange['ede'] } | undefined
  /** `exchanges`: how many queries it takes. */
  nameServer?: (nth: number, server: number) => { outcome: Outcome; isLost?: boolean; exchanges?: number }
  rootProblem?: (nth: number) => RootProblem | undefined
  /** No server of the parent zone says who serves the zone: they are silent, or refuse. */
  isDelegationUnknown?: boolean
  /** Of the answers of the zone's name servers. Without it, only resolvers validate. */
  validity?: (server: number) => Validity['kind']
  /** Of the answers in the zones of CNAME targets. */
  targetValidity?: (name: string) => Validity['kind']
}

const RECORDED: Recorded = {
  owner: NAME,
  recordType: recordTypeOf('A'),
  isExactMatch: false,
  expectedValues: ['192.0.2.1'],
  state: 'VALID',
  values: ['192.0.2.1'],
  fingerprint: fingerprint(answer('A', '192.0.2.1')),
  isRotating: false,
  rotation: null,
  inconclusiveCount: 0,
}
const CAPABILITIES: Capabilities = {
  resolvers: RESOLVERS,
  hasAuthoritativeClient: true,
  hasNetworkCheck: false,
  hasValidator: false,
}

/** Runs the rules until they end the check. */
function check(recorded: Partial<Recorded>, world: World): { step: Step; queries: Query[] } {
  const observations: Observation[] = []
  const queries: Query[] = []
  for (let elapsed = 0; elapsed < 1_000; elapsed++) {
    const now = { at: AT + elapsed, elapsed }
    const capabilities = { ...CAPABILITIES, hasValidator: world.validity !== undefined }
    const step = decide({ recorded: { ...RECORDED, ...recorded }, observations, now, capabilities })
    if (step.kind !== 'query') return { step, queries }
    for (const query of step.queries) {
      observations.push({ ...now, query, ...observe(query, queries, world) } as Observation)
      queries.push(query)
    }
  }
  throw new Error('The check does not end.')
}

function observe(query: Query, earlier: readonly Query[], world: World) {
  const nth = earlier.filter(({ purpose }) => purpose === query.purpose).length
  const nameServers = (world.nameServers ?? ['ns1.example.test']).map((name, at) => ({
    name,
    addresses: [`198.51.100.${at + 1}`],
  }))
  switch (query.purpose) {
    case 'root_servers':
      return { rootProblem: world.rootProblem?.(nth) }
    case 'delegation':
      return {
        view: {
          ...{
            zone: 'example.test',
            parentZone: 'test',
            nameServers,
            ownNameServers: null,
            ttl: 3_600,
            isDenied: false,
            isUnknown: world.isDelegationUnknown === true,
          },
          parents: [{ server: 'a.nic.test', nameServers: nameServers.map(({ name }) => name) }],
        } as unknown as ZoneView,
      }
    case 'name_server':
    case 'name_server_sample': {
      const { outcome, isLost, exchanges = 1 } = world.nameServer?.(nth, query.server) ?? { outcome: TIMEOUT }
      const nameServer = isLost ? undefined : nameServers[query.server]!.name
      const evidence = Array(exchanges).fill(exchange(outcome, `198.51.100.${query.server + 1}:53`))
      return {
        nameServerReply: {
          ...{ owner: NAME, server: query.server, zone: 'example.test', nameServers: [], isFromCache: false },
          ...{ outcome, evidence, nameServer },
        },
      }
    }
    case 'zone_ns':
      return { nsReply: { zone: query.name === NAME ? 'example.test' : 'example.net', outcome: answer('NS') } }
    case 'zone_ds':
      return { nsReply: { outcome: query.name === 'example.test' ? answer('NS') : { kind: 'nodata', chain: [] } } }
    case 'validity':
      return { validity: validityOf(world.validity!(query.server)) }
    case 'target_validity':
      return { validity: validityOf(world.targetValidity!(query.name)) }
    default: {
      const { outcome, ede } = world.resolver?.(query, nth) ?? unexpected(query)
      const server = 'servers' in query ? query.servers[0]! : RESOLVERS[0]!
      const reply: Reply = { outcome, evidence: [exchange(outcome, `${server.ip}:${server.port}`, ede)] }
      return { reply }
    }
  }
}

const validityOf = (kind: Validity['kind']): Validity =>
  kind === 'bogus' || kind === 'bogus_above' ? { kind, ede: [] } : { kind }

function unexpected(query: Query): never {
  throw new Error(`No reply is given for ${JSON.stringify(query)}.`)
}

test('a TXT record that comes with three of four answers is not MISMATCH after twenty without it', () => {
  const one = answer('TXT', 'a')
  const world: World = { resolver: () => ({ outcome: one }), nameServer: () => ({ outcome: one }) }
  const recorded = {
    ...{ recordType: recordTypeOf('TXT'), expectedValues: ['a', 'b'], state: 'UNSET' as const },
    ...{ values: null, fingerprint: null },
  }
  const { step, queries } = check(recorded, world)
  expect(step).toMatchObject({ kind: 'inconclusive', rotation: { answers: 72 } })
  expect(queries.filter(({ purpose }) => purpose === 'name_server_sample')).toHaveLength(71)
})

test('a resolver that fails twice for uncached names gets no more queries for them', () => {
  const world: World = {
    resolver: ({ purpose }) => ({ outcome: purpose === 'uncached' ? SERVFAIL : answer('A', '192.0.2.1') }),
  }
  const { step, queries } = check({ state: 'MISMATCH', fingerprint: 1 }, world)
  expect(step).toMatchObject({ kind: 'inconclusive' })
  expect(queries.filter(({ purpose }) => purpose === 'uncached')).toHaveLength(4) // two of each resolver
})

test('checks in which the members of a rotation were uncertain do not count as silence of the zone', () => {
  const world: World = {
    resolver: ({ purpose }) => ({ outcome: purpose === 'uncached' ? SERVFAIL : answer('A', '192.0.2.1') }),
  }
  const silentAfter = (silentChecks: number) => {
    const rotation: Rotation = { ...newRotation(AT, ['192.0.2.1']), silentChecks }
    return check({ rotation, inconclusiveCount: 5, isRotating: true }, world).step
  }
  expect(silentAfter(0)).toMatchObject({ kind: 'inconclusive', rotation: { silentChecks: 1 } })
  expect(silentAfter(2)).toMatchObject({ kind: 'inconclusive', rotation: { silentChecks: 3 } })
  expect(silentAfter(3)).toMatchObject({ kind: 'verdict', outcome: TIMEOUT })
})

test('a resolver that cannot reach the zone has no DNSSEC failure, until it has said so in every check', () => {
  const unreachable = { outcome: SERVFAIL, ede: [{ code: 22, text: '' }] }
  const world: World = {
    resolver: ({ purpose }) => (purpose === 'checking_disabled' ? { outcome: answer('A', '192.0.2.1') } : unreachable),
    rootProblem: () => 'root_servers_unreachable',
  }
  const after = (inconclusiveCount: number) => check({ inconclusiveCount }, world).step
  expect(after(0)).toMatchObject({ kind: 'inconclusive' })
  expect(after(3)).toMatchObject({ kind: 'verdict', outcome: { kind: 'failure', bogus: true } })
})

test('a lost sample is not a second name server that a new member would have to come from', () => {
  const world: World = {
    resolver: () => ({ outcome: answer('A', '192.0.2.1') }),
    nameServer: (nth) =>
      nth % 5 === 4
        ? { outcome: TIMEOUT, isLost: true }
        : { outcome: answer('A', nth % 2 ? '192.0.2.1' : '192.0.2.2') },
  }
  const rotation = newRotation(AT, ['192.0.2.1'])
  const recorded = { isRotating: true, rotation, inconclusiveCount: 6, resolution: 'public' as const }
  const { step } = check(recorded, world)
  expect(step).toMatchObject({ kind: 'verdict', outcome: answer('A', '192.0.2.1', '192.0.2.2') })
})

test('old copies in caches are no members of what the name servers publish', () => {
  const world: World = {
    resolver: () => ({ outcome: answer('A', '192.0.2.9') }),
    nameServer: () => ({ outcome: answer('A', '192.0.2.9') }),
  }
  const rotation: Rotation = { ...newRotation(AT, ['192.0.2.1']), firstCopiesUntil: AT + 60_000 }
  const { step } = check({ rotation, inconclusiveCount: 1 }, world)
  expect(step).toMatchObject({ kind: 'verdict', outcome: answer('A', '192.0.2.9'), rotation: null })
})

test.for(['root_servers_unreachable', 'queries_intercepted'] as const)(
  'what the resolvers say after %s counts only if the root servers still fail',
  (problem) => {
    /** `lasts`: for so many looks at the root servers. */
    const after = (lasts: number) => {
      let looks = 0
      return check(
        { resolution: 'public' },
        {
          rootProblem: () => (looks++ < lasts ? problem : undefined),
          resolver: () => ({ outcome: answer('A', looks <= lasts ? '192.0.2.66' : '192.0.2.1') }),
          nameServer: () => ({ outcome: answer('A', '192.0.2.1') }),
        },
      ).step
    }
    expect(after(1)).toMatchObject({ outcome: answer('A', '192.0.2.1') })
    expect(after(2)).toMatchObject({ outcome: answer('A', '192.0.2.66') })
  },
)

/** `www.example.test` is a CNAME record to a name of another zone. */
function aliasTo(target: string, ...values: string[]): Outcome {
  return { ...answer('A', ...values), chain: [{ name: NAME, target, ttl: 60 }] }
}

test.for([
  ['unsigned', undefined],
  ['secure', undefined],
  ['unknown', 'failure'],
  ['indeterminate', 'failure'],
  ['bogus', 'failure'],
] as const)(
  'beside a secure answer, a CNAME into a zone whose answer is %s leaves the resolver that refuses it: %s',
  ([kind, refused]) => {
    const records = aliasTo('cdn.example.net', '192.0.2.1')
    const world: World = {
      nameServers: ['ns1.example.test', 'ns2.example.test'],
      resolver: ({ purpose }) =>
        purpose === 'checking_disabled' ? { outcome: records } : { outcome: SERVFAIL, ede: [{ code: 9, text: '' }] },
      nameServer: () => ({ outcome: records }),
      validity: (server) => (server === 0 ? 'bogus' : 'secure'),
      targetValidity: () => kind,
    }
    const { step } = check({ state: 'VALID', fingerprint: fingerprint(records) }, world)
    expect(step).toMatchObject({ kind: 'verdict', outcome: refused ? { kind: 'failure', bogus: true } : records })
  },
)

test('a member that only caches had, while the name servers could not be queried, is none of theirs', () => {
  const values = ['192.0.2.1', '192.0.2.2']
  const known = { isRotating: true, values, fingerprint: fingerprint(answer('A', ...values)) }
  const cached = check(
    { ...known, rotation: newRotation(AT, values) },
    { rootProblem: () => 'root_servers_unreachable', resolver: () => ({ outcome: answer('A', '192.0.2.245') }) },
  ).step
  expect(cached).toMatchObject({ kind: 'inconclusive', rotation: { members: { '192.0.2.245': { seen: 2 } } } })
  const { rotation } = cached as Step & { kind: 'inconclusive' }
  const recorded = {
    ...known,
    resolution: 'public' as const,
    rotation,
    inconclusiveCount: 8,
    isExactMatch: true,
    expectedValues: values,
  }
  const { step } = check(recorded, {
    nameServers: ['ns1.example.test', 'ns2.example.test'],
    resolver: () => ({ outcome: answer('A', '192.0.2.245') }),
    nameServer: (nth) => ({ outcome: answer('A', values[nth % 3 ? 0 : 1]!) }),
  })
  expect(step).toMatchObject({ kind: 'verdict', outcome: answer('A', ...values) })
})

test('while the name servers of a rotating RRset fail, what resolvers receive in another region is no member', () => {
  const rotation = newRotation(AT, ['192.0.2.1', '192.0.2.2'])
  const recorded = { isRotating: true, rotation, values: ['192.0.2.1', '192.0.2.2'], inconclusiveCount: 4 }
  const { step } = check(recorded, {
    resolver: ({ purpose }) =>
      purpose === 'uncached'
        ? { outcome: { kind: 'nxdomain', chain: [] } }
        : { outcome: purpose === 'resolver_ns' ? answer('NS', 'ns1.example.test') : answer('A', '192.0.2.245') },
  })
  expect(step).toMatchObject({ kind: 'inconclusive' })
  expect((step as Step & { kind: 'inconclusive' }).rotation).toEqual(rotation)
})

test('while the servers of the parent zone refuse to say who serves the zone, two resolvers that agree wait', () => {
  const world: World = { isDelegationUnknown: true, resolver: () => ({ outcome: answer('A', '192.0.2.9') }) }
  const after = (inconclusiveCount: number) => check({ inconclusiveCount }, world).step
  for (const count of [0, 1, 2]) expect(after(count)).toMatchObject({ kind: 'inconclusive' })
  expect(after(3)).toMatchObject({ kind: 'verdict', outcome: answer('A', '192.0.2.9') })
})

test('samples end with the budget of a check, although each takes several queries', () => {
  const sampled = (exchanges: number) => {
    const one = answer('TXT', 'a')
    const recorded = {
      ...{ recordType: recordTypeOf('TXT'), expectedValues: ['a', 'b'], state: 'UNSET' as const },
      ...{ values: null, fingerprint: null },
    }
    const world: World = { resolver: () => ({ outcome: one }), nameServer: () => ({ outcome: one, exchanges }) }
    return check(recorded, world).queries.filter(({ purpose }) => purpose === 'name_server_sample').length
  }
  expect(sampled(1)).toBe(71) // as many as are needed
  expect(sampled(3) * 3).toBeGreaterThan(100)
  expect(sampled(3) * 3).toBeLessThan(120)
})

test.for(['VALID', 'INVALID'] as const)(
  'below a zone whose signatures fail, a resolver that refuses the answer is right, whatever others have (recorded: %s)',
  (state) => {
    const records = answer('A', '192.0.2.1')
    const bogus: Outcome = { ...SERVFAIL, bogus: true }
    const refusing = state === 'VALID' ? 'first' : 'other_resolver'
    const world = (refuses: boolean): World => ({
      nameServers: ['ns1.example.test', 'ns2.example.test'],
      resolver: ({ purpose }, nth) => ({
        outcome: refuses && purpose === refusing && nth % 2 === (state === 'VALID' ? 0 : 1) ? SERVFAIL : records,
      }),
      nameServer: () => ({ outcome: answer('A', '192.0.2.9') }),
      validity: () => 'bogus_above',
    })
    const recorded = state === 'VALID' ? {} : { state, fingerprint: fingerprint(bogus), inconclusiveCount: 3 }
    const after = (refuses: boolean) =>
      check({ ...recorded, isSuspected: true, resolution: 'public' }, world(refuses)).step
    expect(after(true)).toMatchObject({ kind: 'verdict', outcome: bogus })
    expect(after(false)).toMatchObject({ kind: 'verdict', outcome: answer('A', '192.0.2.9') })
  },
)
