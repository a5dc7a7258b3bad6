import { expect, test } from 'vitest'
import type { DnssecCause } from '#contract/dnssec.ts'
import { ZONE_FINDING_CODES, type ZoneFindingCode } from '#contract/zone-codes.ts'
import type { ServerVerdict } from '../dns/dnssec/server-validator.ts'
import { absentFacts, firstServer, healthyAnswer, healthyFacts, NOW, SOA, secondServer } from '../testing/zone-facts.ts'
import { DAY_MS, HOUR_MS } from '../times.ts'
import { runChecks, ZONE_CHECKS } from './checks.ts'
import type { ServerAnswer, ServerResponse, ZoneFacts } from './facts.ts'
import { NO_MEMORY, nextMemory, type ZoneMemory } from './memory.ts'
import type { RegistrationMemory } from './registration-memory.ts'

const EXPECTED = ['ns1.example.com', 'ns2.example.net']
const KNOWN: ZoneMemory = { wasDelegated: true, servers: {} }
const DS = healthyFacts().ds![0]!
const CAUSE: DnssecCause = { code: 'no_keys', params: { zone: 'example.com', key_tags: [1] } }
const BOGUS: ServerVerdict = { kind: 'bogus', cause: CAUSE, ede: [] }

/** Facts in which the second server gives this response. */
const second = (response: ServerResponse, more: Partial<ZoneFacts> = {}) =>
  healthyFacts({ servers: [firstServer(), secondServer({ response })], ...more })
const answering = (changes: Partial<ServerAnswer>) => second(healthyAnswer(changes))
const both = (changes: Partial<ServerAnswer>, more: Partial<ZoneFacts> = {}) =>
  healthyFacts({
    servers: [firstServer({ response: healthyAnswer(changes) }), secondServer({ response: healthyAnswer(changes) })],
    ...more,
  })
const soa = (changes: Partial<typeof SOA>) => ({ soa: { ...SOA, ...changes } })
/** The second server has had serial 99 for this long. */
const behind = (ms: number): ZoneMemory => ({
  wasDelegated: true,
  servers: { 'ns2.example.net': { serial: 99, highest: 99, behindSince: NOW - ms } },
})
const wentBack: ZoneMemory = {
  wasDelegated: true,
  servers: { 'ns2.example.net': { serial: 99, highest: 120, behindSince: NOW } },
}
const signedFor = (validityDays: number, leftDays: number) =>
  answering({
    signatures: [
      {
        type: 'SOA',
        keyTag: 1,
        inception: NOW - (validityDays - leftDays) * DAY_MS,
        expiration: NOW + leftDays * DAY_MS,
      },
    ],
  })

const REGISTERED = {
  ...{ state: 'registered' as const, registrar: 'Example Registrar', registrarId: '1', expiresAt: NOW + 300 * DAY_MS },
  ...{ statuses: ['client transfer prohibited'], nameServers: EXPECTED, dsKeyTags: [1] },
}
const registered = (changes: Partial<typeof REGISTERED> = {}, lookedUpAt = NOW - HOUR_MS, more = {}): ZoneFacts =>
  healthyFacts({
    registration: { domain: 'example.com', facts: { ...REGISTERED, ...changes }, lookedUpAt, problem: null },
    ...more,
  })
const expiresIn = (days: number, statuses: string[] = []) => registered({ expiresAt: NOW + days * DAY_MS, statuses })
/** After earlier looks, the last of which saw the registration as it is now. */
const remembers = (changes: Partial<RegistrationMemory>): ZoneMemory => ({
  ...KNOWN,
  registration: {
    ...{ registrar: 'Example Registrar', registrarId: '1', isLocked: true, unlockedAt: null, changed: null },
    ...{ nameServersDifferSince: null, dsDifferSince: null, ...changes },
  },
})
const CHANGED = { from: 'Other Registrar', at: NOW - HOUR_MS }

type Case = [facts: ZoneFacts, about: string, memory?: ZoneMemory]

/** What each check finds. */
const FINDS: Record<ZoneFindingCode, Case[]> = {
  zone_gone: [[absentFacts(), '', KNOWN]],
  not_a_zone: [[absentFacts(), '', NO_MEMORY]],
  no_name_server_answers: [
    [
      healthyFacts({
        servers: [firstServer({ response: { kind: 'silent' } }), secondServer({ response: { kind: 'lame' } })],
      }),
      '',
    ],
  ],
  unexpected_name_server: [
    [healthyFacts({ delegation: { nameServers: [...EXPECTED, 'ns.evil.example'] } }), 'ns.evil.example'],
  ],
  name_servers_differ: [
    [both({ nameServers: ['ns1.example.com', 'ns3.example.net'] }), ''],
    [both({ nameServers: [...EXPECTED, 'ns3.example.net'] }), ''],
    [answering({ nameServers: ['ns3.example.net'] }), ''],
  ],
  name_servers_disjoint: [[both({ nameServers: ['ns3.example.net'] }), '']],
  glue_differs: [
    [
      healthyFacts({
        servers: [firstServer({ glue: { delegation: ['192.0.2.9'], zone: ['192.0.2.1'] } }), secondServer()],
      }),
      'ns1.example.com',
    ],
  ],
  name_server_lame: [[second({ kind: 'lame' }), 'ns2.example.net']],
  name_server_refuses: [[second({ kind: 'refuses', rcode: 'REFUSED' }), 'ns2.example.net']],
  name_server_silent: [[second({ kind: 'silent' }), 'ns2.example.net']],
  name_server_without_address: [[second({ kind: 'no_address' }), 'ns2.example.net']],
  name_server_without_tcp: [[answering({ tcp: false }), 'ns2.example.net']],
  single_name_server: [
    [healthyFacts({ delegation: { nameServers: ['ns1.example.com'] }, servers: [firstServer()] }), ''],
  ],
  single_network: [
    [healthyFacts({ servers: [firstServer(), secondServer({ ips: ['192.0.2.77'] })] }), ''],
    [
      healthyFacts({
        servers: [firstServer({ ips: ['2001:db8:1:2::1'] }), secondServer({ ips: ['2001:db8:1:3::2'] })],
      }),
      '',
    ],
  ],
  serial_behind: [[answering(soa({ serial: 99 })), 'ns2.example.net', behind(4_201_000)]],
  serial_went_back: [[answering(soa({ serial: 99 })), 'ns2.example.net', wentBack]],
  same_serial_differs: [
    [answering(soa({ minimum: 301 })), 'ns2.example.net'],
    [answering({ nameServers: ['ns1.example.com'] }), 'ns2.example.net'],
  ],
  secondary_expires: [[answering(soa({ serial: 99 })), 'ns2.example.net', behind(454 * 1_000_000)]],
  dnssec_bogus: [[both({ verdict: BOGUS }), '']],
  dnssec_partly_bogus: [[answering({ verdict: BOGUS }), 'ns2.example.net']],
  signatures_expire: [
    [signedFor(14, 3.4), 'ns2.example.net'],
    [signedFor(8, 2.9), 'ns2.example.net'],
    [signedFor(2, 0.4), 'ns2.example.net'],
  ],
  ds_sha1_only: [[healthyFacts({ ds: [{ ...DS, digestType: 1 }] }), '']],
  ds_without_key: [[healthyFacts({ ds: [DS, { ...DS, keyTag: 2 }] }), '']],
  old_algorithm: [
    [healthyFacts({ ds: [{ ...DS, algorithm: 7 }] }), ''],
    [
      both({
        keys: [
          { keyTag: 1, algorithm: 13 },
          { keyTag: 2, algorithm: 5 },
        ],
      }),
      '',
    ],
  ],
  nsec3_iterations: [[healthyFacts({ nsec3Iterations: 1 }), '']],
  registration_expires_30_days: [
    [expiresIn(30), ''],
    [expiresIn(14.1), ''],
  ],
  registration_expires_14_days: [[expiresIn(14), '']],
  registration_expires_7_days: [
    [expiresIn(7), ''],
    [{ ...expiresIn(2), delegation: null, servers: [] }, ''],
  ],
  registration_expires_1_day: [
    [expiresIn(1), ''],
    // The registry may be about to renew.
    [expiresIn(-0.5), ''],
  ],
  registration_expired: [[expiresIn(-1.1), '']],
  registration_on_hold: [
    [registered({ statuses: ['client hold'] }), ''],
    [registered({ statuses: ['server hold'] }, NOW, { delegation: null, servers: [] }), ''],
  ],
  registration_redemption: [[registered({ statuses: ['pending delete', 'redemption period'] }), '']],
  registration_pending_delete: [[registered({ statuses: ['pending delete'] }), '']],
  registration_unlocked: [[registered({ statuses: [] }), '', remembers({ unlockedAt: NOW - DAY_MS })]],
  registrar_changed: [[registered(), '', remembers({ changed: CHANGED })]],
  registry_name_servers_differ: [
    [registered({ nameServers: ['ns9.example.net'] }), '', remembers({ nameServersDifferSince: NOW - 3 * HOUR_MS })],
  ],
  registry_ds_differs: [[registered({ dsKeyTags: [9] }), '', remembers({ dsDifferSince: NOW - 3 * HOUR_MS })]],
}

/** What is close to it and right. */
const FINDS_NOT: Record<ZoneFindingCode, Case[]> = {
  zone_gone: [[absentFacts(), '', NO_MEMORY]],
  not_a_zone: [[absentFacts(), '', KNOWN]],
  no_name_server_answers: [
    [second({ kind: 'silent' }), ''],
    [
      healthyFacts({
        servers: [firstServer({ response: { kind: 'silent' } }), secondServer({ response: { kind: 'unknown' } })],
      }),
      '',
    ],
  ],
  unexpected_name_server: [[healthyFacts({ delegation: { nameServers: ['ns1.example.com'] } }), 'ns1.example.com']],
  name_servers_differ: [[both({ nameServers: ['ns3.example.net'] }), '']],
  name_servers_disjoint: [[both({ nameServers: ['ns1.example.com', 'ns3.example.net'] }), '']],
  glue_differs: [[healthyFacts(), 'ns1.example.com']],
  name_server_lame: [[second({ kind: 'refuses', rcode: 'REFUSED' }), 'ns2.example.net']],
  name_server_refuses: [[second({ kind: 'lame' }), 'ns2.example.net']],
  name_server_silent: [[second({ kind: 'lame' }), 'ns2.example.net']],
  name_server_without_address: [[second({ kind: 'silent' }), 'ns2.example.net']],
  name_server_without_tcp: [[answering({ tcp: true }), 'ns2.example.net']],
  single_name_server: [[healthyFacts(), '']],
  single_network: [
    [healthyFacts({ servers: [firstServer()] }), ''],
    [healthyFacts({ servers: [firstServer(), secondServer({ ips: ['192.0.2.77', '2001:db8::2'] })] }), ''],
  ],
  serial_behind: [
    [answering(soa({ serial: 99 })), 'ns2.example.net', behind(4_200_000)],
    // Two providers count their changes separately.
    [answering(soa({ serial: 99, mname: 'ns2.example.net' })), 'ns2.example.net'],
  ],
  serial_went_back: [[answering(soa({ serial: 99 })), 'ns2.example.net', behind(HOUR_MS)]],
  same_serial_differs: [
    [answering(soa({ serial: 101, minimum: 301 })), 'ns2.example.net'],
    [answering(soa({ minimum: 301, mname: 'ns2.example.net' })), 'ns2.example.net'],
  ],
  secondary_expires: [[answering(soa({ serial: 99 })), 'ns2.example.net', behind(453 * 1_000_000)]],
  dnssec_bogus: [[answering({ verdict: BOGUS }), '']],
  dnssec_partly_bogus: [[both({ verdict: BOGUS }), 'ns2.example.net']],
  signatures_expire: [
    [signedFor(14, 3.6), 'ns2.example.net'],
    [signedFor(8, 3.1), 'ns2.example.net'],
    // Signed for each answer: half of the validity has passed, and never more.
    [signedFor(2, 1), 'ns2.example.net'],
    // Nobody validates them.
    [{ ...signedFor(14, 1), ds: [] }, 'ns2.example.net'],
  ],
  ds_sha1_only: [[healthyFacts({ ds: [{ ...DS, digestType: 1 }, DS] }), '']],
  ds_without_key: [[healthyFacts({ ds: [{ ...DS, keyTag: 2 }] }), '']],
  old_algorithm: [[both({ keys: [{ keyTag: 2, algorithm: 5 }] }, { ds: [] }), '']],
  nsec3_iterations: [[healthyFacts({ nsec3Iterations: null }), '']],
  registration_expires_30_days: [
    [expiresIn(30.1), ''],
    [expiresIn(13.9), ''],
  ],
  registration_expires_14_days: [
    [expiresIn(14.1), ''],
    [expiresIn(6.9), ''],
  ],
  registration_expires_7_days: [[expiresIn(0.9), '']],
  // In redemption it has expired, of course, and the date of an auto-renew period says nothing.
  registration_expires_1_day: [
    [expiresIn(1.1), ''],
    [expiresIn(-1.1), ''],
    [expiresIn(0.5, ['redemption period']), ''],
    [expiresIn(0.5, ['auto renew period']), ''],
  ],
  registration_expired: [
    [expiresIn(-0.9), ''],
    [expiresIn(-2, ['auto renew period']), ''],
    [expiresIn(-2, ['pending delete']), ''],
    // The last look-up was before that.
    [registered({ expiresAt: NOW - 2 * DAY_MS }, NOW - 2 * DAY_MS), ''],
  ],
  registration_on_hold: [[registered({ statuses: ['server transfer prohibited'] }), '']],
  registration_redemption: [[registered({ statuses: ['auto renew period'] }), '']],
  registration_pending_delete: [[registered({ statuses: ['pending delete', 'redemption period'] }), '']],
  registration_unlocked: [
    [registered({ statuses: [] }), '', remembers({ isLocked: false })],
    [registered({ statuses: [] }), '', remembers({ unlockedAt: NOW - 14 * DAY_MS })],
  ],
  registrar_changed: [[registered(), '', remembers({ changed: { ...CHANGED, at: NOW - 14 * DAY_MS } })]],
  registry_name_servers_differ: [
    // The look-up is older than the change of the delegation, or hardly younger.
    [registered({ nameServers: ['a.example'] }), '', remembers({ nameServersDifferSince: NOW - 1.5 * HOUR_MS })],
    [registered(), '', remembers({})],
  ],
  registry_ds_differs: [[registered({ dsKeyTags: [9] }), '', remembers({ dsDifferSince: NOW })]],
}

const found = ([facts, , memory = KNOWN]: Case) =>
  runChecks(facts, memory, EXPECTED).results.filter((result) => !('isUnknown' in result))

test('a healthy zone has no finding', () => {
  expect(found([healthyFacts(), ''])).toEqual([])
})

test.each(ZONE_FINDING_CODES)('%s is found, and what is close to it is not', (code) => {
  expect(FINDS[code].length).toBeGreaterThan(0)
  expect(FINDS_NOT[code].length).toBeGreaterThan(0)
  for (const each of FINDS[code]) expect(found(each)).toContainEqual(expect.objectContaining({ code, about: each[1] }))
  for (const each of FINDS_NOT[code])
    expect(found(each)).not.toContainEqual(expect.objectContaining({ code, about: each[1] }))
})

test.each(ZONE_FINDING_CODES)('%s says in one sentence what is wrong and what to do', (code) => {
  const { text, advice, about } = ZONE_CHECKS[code]
  const result = found(FINDS[code][0]!).find((each) => each.code === code) as unknown as { params: never }
  for (const sentence of [text(result.params), advice(result.params), about]) {
    expect(sentence).toMatch(/^[A-Z0-9a-z].*\.$/)
    expect(sentence).not.toMatch(/undefined|NaN|\[object/)
  }
  expect(ZONE_CHECKS[code].code).toBe(code)
})

/** Nothing is concluded from a server that could not be asked, or did not answer. */
test.each<[string, ServerResponse, ZoneFindingCode[]]>([
  ['could not be asked', { kind: 'unknown' }, ['name_server_silent', 'name_server_lame', 'serial_behind']],
  ['is silent', { kind: 'silent' }, ['name_server_lame', 'name_server_without_tcp', 'serial_behind']],
])('of a name server that %s, other findings neither begin nor end', (_, response, codes) => {
  const { results } = runChecks(second(response), behind(DAY_MS), EXPECTED)
  for (const code of codes) expect(results).toContainEqual({ code, about: 'ns2.example.net', isUnknown: true })
})

test('of a zone that is gone, nothing is said about its servers', () => {
  const { results, unknown } = runChecks(absentFacts(), KNOWN, EXPECTED)
  const found = results.filter((result) => !('isUnknown' in result))
  expect(found.map(({ code }) => code)).toEqual(['zone_gone'])
  expect(unknown.size + results.length).toBe(ZONE_FINDING_CODES.length - 1)
})

test('a server that was not validated leaves DNSSEC unknown', () => {
  const facts = both({ verdict: null }, { ds: null })
  const { results } = runChecks(facts, KNOWN, EXPECTED)
  for (const code of ['dnssec_bogus', 'ds_sha1_only', 'old_algorithm'] as const)
    expect(results).toContainEqual({ code, about: '', isUnknown: true })
})

const REGISTRATION_CODES = ZONE_FINDING_CODES.filter((code) => code.startsWith('regist'))

test.each<[string, ZoneFacts]>([
  [
    'of a registry without RDAP',
    { ...registered(), registration: { ...registered().registration!, facts: { state: 'no_rdap' } } },
  ],
  [
    'that the registry does not know',
    { ...registered(), registration: { ...registered().registration!, facts: { state: 'not_found' } } },
  ],
  ['that was looked up four days ago', registered({ statuses: ['client hold'] }, NOW - 4 * DAY_MS)],
  ['that was never looked up', healthyFacts()],
])('of a registration %s, findings neither begin nor end', (_, facts) => {
  const { results } = runChecks(facts, remembers({ changed: CHANGED }), EXPECTED)
  for (const code of REGISTRATION_CODES) expect(results).toContainEqual({ code, about: '', isUnknown: true })
})

test('a new registrar, a removed lock and other name servers are remembered from the look that saw them', () => {
  const first = nextMemory(KNOWN, registered())
  expect(first.registration).toMatchObject({ registrar: 'Example Registrar', isLocked: true, changed: null })
  expect(nextMemory(first, registered())).toEqual(first)
  // Another way to write the same registrar is no change.
  const renamed = nextMemory(first, registered({ registrar: 'EXAMPLE REGISTRAR, INC.' }))
  expect(renamed.registration).toMatchObject({ changed: null })

  const other = { registrar: 'New Registrar', registrarId: '2', statuses: [], nameServers: ['ns9.example.net'] }
  const moved = nextMemory(renamed, registered(other))
  expect(moved.registration).toMatchObject({
    ...{ registrar: 'New Registrar', changed: { from: 'EXAMPLE REGISTRAR, INC.', at: NOW } },
    ...{ unlockedAt: NOW, nameServersDifferSince: NOW, dsDifferSince: null },
  })
  const later = { ...registered(other), at: NOW + DAY_MS }
  expect(nextMemory(moved, later)).toEqual(moved)
  const expected = { changed: null, unlockedAt: null, nameServersDifferSince: NOW }
  expect(nextMemory(moved, { ...later, at: NOW + 14 * DAY_MS }).registration).toMatchObject(expected)
  expect(nextMemory(moved, healthyFacts())).toMatchObject({ registration: moved.registration })
})
