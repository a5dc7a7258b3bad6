import type { ZoneFindingCode, ZoneHealth } from '#contract/zone-codes.ts'
import type { Database } from '#server/database/database.ts'
import { newId } from '#server/ids.ts'
import { ZONE_CHECKS } from '#server/zones/checks.ts'
import { NO_FINDINGS } from '#server/zones/findings.ts'
import { NO_MEMORY } from '#server/zones/memory.ts'
import type { ShownFacts } from '#server/zones/zone.ts'

const HOUR = 3_600_000
const YEAR = 365 * 24 * HOUR
const SERVERS = ['ns1.dns.example', 'ns2.dns.example']

const servers = (second: Partial<ShownFacts['servers'][number]> = {}): ShownFacts['servers'] =>
  SERVERS.map((name, index) => ({
    ...{ name, is_delegated: true, is_in_zone: true, ip_addresses: [`192.0.2.${index + 53}`], state: 'answers' },
    ...{ serial: 2026112101, tcp: true, ...(index === 1 ? second : {}) },
  }))

const registration = (name: string, expiresAt: number): ShownFacts['registration'] => ({
  ...{ domain: name, state: 'registered', registrar: 'Harbour Names Ltd.', expires: new Date(expiresAt).toISOString() },
  ...{ statuses: ['client transfer prohibited'], looked_up: new Date().toISOString(), problem: null },
})

type Finding = [code: ZoneFindingCode, about: string, params: object, hours: number]
type ShownZone = [name: string, health: ZoneHealth, facts: ShownFacts, findings: Finding[]]

const UNSIGNED: ShownFacts['dnssec'] = {
  state: 'unsigned',
  reason: 'The parent zone has no DS records.',
  signatures_expire: null,
}

const zonesAt = (now: number): ShownZone[] => [
  [
    'orchard.example',
    'error',
    {
      servers: servers({ state: 'silent', serial: null, tcp: null }),
      dnssec: { state: 'secure', reason: null, signatures_expire: new Date(now + 50 * HOUR).toISOString() },
      goes_dark: {
        at: new Date(now + 50 * HOUR).toISOString(),
        reason: 'signature_expires',
        name_server: SERVERS[0]!,
        record_type: 'SOA',
        text: `The signature of the SOA records on ${SERVERS[0]} expires, unless the zone is signed again.`,
      },
      registration: registration('orchard.example', now + YEAR / 2),
    },
    [
      ['name_server_silent', SERVERS[1]!, { name_server: SERVERS[1], addresses: ['192.0.2.54'] }, 3],
      [
        'signatures_expire',
        SERVERS[0]!,
        { name_server: SERVERS[0], record_type: 'SOA', expires_at: new Date(now + 50 * HOUR).toISOString() },
        20,
      ],
      ['single_network', '', { zone: 'orchard.example', network: '192.0.2.0/24' }, 900],
    ],
  ],
  ['northwind.example', 'ok', { servers: servers(), dnssec: UNSIGNED, goes_dark: null, registration: null }, []],
  [
    'lumen.example',
    'critical',
    { servers: servers(), dnssec: UNSIGNED, goes_dark: null, registration: null },
    [
      [
        'unexpected_name_server',
        'ns.elsewhere.example',
        { zone: 'lumen.example', name_server: 'ns.elsewhere.example' },
        1,
      ],
    ],
  ],
]

/** Zones as looks would have left them, because the showcase has no root servers. */
export async function writeZones(db: Database): Promise<void> {
  const now = Date.now()
  const { id: organization_id } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  for (const [name, health, facts, findings] of zonesAt(now)) {
    const id = newId('zon', now)
    const counts = { ...NO_FINDINGS }
    for (const [code] of findings) counts[ZONE_CHECKS[code].level]++
    await db
      .insertInto('zones')
      .values({
        ...{ organization_id, id, created_at: now - 900 * HOUR, name, health, counts: JSON.stringify(counts) },
        ...{ expected_name_servers: JSON.stringify(SERVERS), confirmed_at: null, ignored: '[]' },
        ...{ facts: JSON.stringify(facts), memory: JSON.stringify(NO_MEMORY) },
      })
      .execute()
    await db
      .insertInto('due_zones')
      .values({ organization_id, zone_id: id, name, due_at: now + YEAR, last_checked_at: now - HOUR / 4 })
      .execute()
    for (const [code, about, parameters, hours] of findings) {
      const at = now - hours * HOUR
      const [params, level] = [JSON.stringify(parameters), ZONE_CHECKS[code].level]
      const keys = { organization_id, zone_id: id, code, about, level, params }
      await db
        .insertInto('zone_findings')
        .values({
          ...keys,
          evidence: JSON.stringify([{ at, params: parameters }]),
          first_seen_at: at,
          confirmed_at: at,
        })
        .execute()
      await db
        .insertInto('zone_events')
        .values({ ...keys, id: newId('zev', at), occurred_at: at, kind: 'began' })
        .execute()
    }
  }
}
