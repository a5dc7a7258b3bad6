import { expect, onTestFinished, test } from 'vitest'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { createSemaphore } from '../dns/semaphore.ts'
import type { Claim } from '../queue/lease-queue.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import { givenDnsClient } from '../testing/dns.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { patientClock } from '../testing/patient-clock.ts'
import type { Recorded } from './check-state.ts'
import { evidenceOf } from './evidence.ts'
import { runCheck } from './run-check.ts'

const TXT = 16
/** Records of 60 kB, and of 1.2 kB, which fit into UDP. */
const [LARGE, SMALL] = [240, 4]
const MAX_OCTETS = 512 * 1024
const ANSWER_OCTETS = 61_000
const LARGE_OCTETS = 32 * 1024

/** A response with TXT records, or a truncated one over UDP. `salt`: in each text. */
function responseOf(
  query: Buffer,
  isTruncated: boolean,
  isAuthoritative: boolean,
  count: number,
  salt: string,
): Buffer {
  const end = query.indexOf(0, 12) + 5
  const header = Buffer.alloc(12)
  query.copy(header, 0, 0, 2)
  const flags = isAuthoritative ? 0x8400 : 0x8180
  header.writeUInt16BE(isTruncated ? flags | 0x0200 : flags, 2)
  header.writeUInt16BE(1, 4)
  if (isTruncated) return Buffer.concat([header, query.subarray(12, end)])
  header.writeUInt16BE(count, 6)
  const records = Array.from({ length: count }, (_, number) => {
    const text = Buffer.from(`${number} ${salt} `.padEnd(240, 'x'))
    const fixed = Buffer.from([0xc0, 12, 0, TXT, 0, 1, 0, 0, 1, 0, 0, text.length + 1, text.length])
    return Buffer.concat([fixed, text])
  })
  return Buffer.concat([header, query.subarray(12, end), ...records])
}

/** A zone with four name servers and a resolver, which answer TXT queries. `places`: for checks with large answers. */
async function givenAnswers({ records, isDistinct, places }: { records: number; isDistinct: boolean; places: number }) {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [tld] = await tree.zone('test', ['a.nic.test'])
  const zone = await tree.zone(
    'large.test',
    ['ns1', 'ns2', 'ns3', 'ns4'].map((name) => `${name}.large.test`),
    [tld!],
  )
  const resolver = await tree.server()
  /** Octets that were sent to each check that is not over. */
  const held = new Map<string, number>()
  let count = 0
  const most = { octets: 0, checks: 0, large: 0 }
  const measure = () => {
    const all = [...held.values()]
    const octets = all.reduce((sum, each) => sum + each, 0)
    const large = all.filter((each) => each > LARGE_OCTETS + 5 * SMALL * 300).length
    for (const [key, value] of Object.entries({ octets, checks: held.size, large }))
      most[key as keyof typeof most] = Math.max(most[key as keyof typeof most], value)
  }
  for (const server of [...zone, resolver])
    server.respond('*', (query, transport) => {
      if (query.readUInt16BE(query.indexOf(0, 12) + 1) !== TXT) return 'zone'
      const isTruncated = transport === 'udp' && records > SMALL
      const salt = isDistinct ? String(++count) : ''
      const response = responseOf(query, isTruncated, server !== resolver, records, salt)
      const name = query.toString('latin1', 13, 13 + query[12]!).toLowerCase()
      if (!isTruncated) held.set(name, (held.get(name) ?? 0) + response.length)
      measure()
      return response
    })
  const dns = givenDnsClient([resolver])
  const authoritativeClient = createAuthoritativeClient({
    dns: givenDnsClient([]),
    clock: patientClock,
    roots: [tree.root.address],
  })
  const largeChecks = createSemaphore(places, 100)
  return {
    most,
    largeChecks,
    async check(label: string) {
      const owner = `${label}.large.test`
      const recorded: Recorded = {
        ...{ owner, recordType: recordTypeOf('TXT'), isExactMatch: true, expectedValues: ['x'], state: 'UNSET' },
        ...{ values: null, fingerprint: null, isRotating: false, rotation: null, inconclusiveCount: 0 },
      }
      const claim = { owner, record_type: 'TXT', is_exact_match: 1, fingerprint: null, inconclusive_count: 0 }
      const result = await runCheck(
        { ...(claim as Claim<'due_checks'>), frequency: 5, slot: 0, organization_id: 'org_a', planned_change_id: null },
        { dns, clock: patientClock, authoritativeClient, largeChecks },
        async () => ({ recorded, row: {} }),
        new AbortController().signal,
      )
      held.delete(label)
      return result
    },
  }
}

const labels = (count: number) => Array.from({ length: count }, (_, number) => `n${number}`)
const isOver = ({ kind }: { kind: string }) => kind === 'verdict' || kind === 'inconclusive'

test('what all checks keep of hostile answers is bounded, and each is checked', async () => {
  const { check, most, largeChecks } = await givenAnswers({ records: LARGE, isDistinct: true, places: 2 })

  const results = await Promise.all(labels(8).map(check))

  expect(results.every(isOver)).toBe(true)
  // Each has at most 512 KiB, and one more round of its four servers.
  expect(most.octets).toBeLessThanOrEqual(2 * (MAX_OCTETS + 4 * ANSWER_OCTETS))
  expect(most.octets).toBeGreaterThan(MAX_OCTETS)
  expect(largeChecks.isIdle()).toBe(true)
})

test('checks that query over TCP wait before the first such query', async () => {
  const { check, most } = await givenAnswers({ records: LARGE, isDistinct: false, places: 2 })

  const results = await Promise.all(labels(8).map(check))

  expect(results.map(({ kind }) => kind)).toEqual(Array(8).fill('verdict'))
  expect(most.checks).toBe(2)
})

test('checks that keep many small answers wait too', async () => {
  const { check, most } = await givenAnswers({ records: SMALL, isDistinct: true, places: 2 })

  const results = await Promise.all(labels(8).map(check))

  expect(results.every(isOver)).toBe(true)
  expect(most.checks).toBe(8)
  expect(most.large).toBe(2)
})

test('a check keeps equal answers once, however often it samples them', async () => {
  const { check } = await givenAnswers({ records: LARGE, isDistinct: false, places: 1 })

  const result = await check('www')

  if (result.kind !== 'verdict') throw new Error(result.kind)
  const replies = result.observations.flatMap((each) =>
    'reply' in each ? [each.reply] : 'nameServerReply' in each ? [each.nameServerReply] : [],
  )
  const outcomes = replies.flatMap(({ outcome, evidence }) => [outcome, ...evidence.map((each) => each.outcome)])
  const rrsets = outcomes.flatMap((outcome) => (outcome?.kind === 'answer' ? [outcome.rrset.values] : []))
  expect(rrsets.length).toBeGreaterThan(8)
  expect(new Set(rrsets).size).toBe(1)
  expect(evidenceOf(result.observations).length).toBeGreaterThan(4)
})
