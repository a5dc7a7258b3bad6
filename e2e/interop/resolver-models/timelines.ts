import type { Content, Host, Service } from '../../../simulator/dns/host.ts'
import type { RecordType, RRset } from '../../../simulator/dns/message.ts'
import { newZone, type ZoneData } from '../../../simulator/dns/zone.ts'
import { ROOT_IP } from './real-resolvers.ts'

/** A query of a timeline. `at`: seconds from its begin. `differs`: software whose answer is not compared, with the reason. */
export type Ask = { at: number; name: string; type?: RecordType; differs?: Record<string, string> }

/** What happens, and what is asked. */
export type Timeline = { title: string; asks: readonly Ask[] }

const TLD_IP = '127.0.54.2'
const OLD_IP = '127.0.54.11'
const NEW_IP = '127.0.54.12'
const HOSTS_IP = '127.0.54.13'
const DAY = 86_400

/** A delegation, from an instant (seconds) on. Undefined: there is none. */
type Delegation = { at: number; servers: string[] | undefined; ttl: number }
type Version = { at: number; content: Content }
type Scripted = { zone: string; delegations: Delegation[]; old?: Version[]; fresh?: Version[] }

const A = (name: string, ttl: number, ...values: string[]): RRset => ({ name, type: 'A', ttl, values })
const NS = (name: string, ttl: number, ...values: string[]): RRset => ({ name, type: 'NS', ttl, values })
const CNAME = (name: string, ttl: number, target: string): RRset => ({ name, type: 'CNAME', ttl, values: [target] })

function zone(origin: string, records: RRset[], soa = { ttl: 300, minimum: 5 }): ZoneData {
  return newZone(origin, soa, records)
}

const oldNs = (name: string, ttl: number) => NS(name, ttl, 'ns1.old.hosts.demo')
const newNs = (name: string, ttl: number) => NS(name, ttl, 'ns1.new.hosts.demo')
const always = (servers: string[], ttl: number): Delegation[] => [{ at: 0, servers, ttl }]
const OLD = ['ns1.old.hosts.demo']
const NEW = ['ns1.new.hosts.demo']

const SCRIPTED: readonly Scripted[] = [
  {
    zone: 'ready.demo',
    delegations: always(OLD, 300),
    old: [{ at: 0, content: zone('ready.demo', [oldNs('ready.demo', 300), A('ready.demo', 300, '192.0.2.99')]) }],
  },
  {
    zone: 'change.demo',
    delegations: always(OLD, 300),
    old: [
      { at: 0, content: zone('change.demo', [oldNs('change.demo', 300), A('www.change.demo', 8, '192.0.2.1')]) },
      { at: 3, content: zone('change.demo', [oldNs('change.demo', 300), A('www.change.demo', 8, '192.0.2.2')]) },
    ],
  },
  {
    zone: 'negative.demo',
    delegations: always(OLD, 300),
    old: [
      {
        at: 0,
        content: zone('negative.demo', [oldNs('negative.demo', 300), A('other.negative.demo', 300, '192.0.2.1')], {
          ttl: 300,
          minimum: 7,
        }),
      },
      {
        at: 2,
        content: zone(
          'negative.demo',
          [
            oldNs('negative.demo', 300),
            A('other.negative.demo', 300, '192.0.2.1'),
            A('new.negative.demo', 300, '192.0.2.2'),
          ],
          { ttl: 300, minimum: 7 },
        ),
      },
    ],
  },
  {
    zone: 'soattl.demo',
    delegations: always(OLD, 300),
    old: [
      {
        at: 0,
        content: zone('soattl.demo', [oldNs('soattl.demo', 300), CNAME('kept.soattl.demo', 300, 'www.change.demo')], {
          ttl: 7,
          minimum: 3_000,
        }),
      },
      {
        at: 2,
        content: zone('soattl.demo', [oldNs('soattl.demo', 300), A('new.soattl.demo', 300, '192.0.2.2')], {
          ttl: 7,
          minimum: 3_000,
        }),
      },
    ],
  },
  {
    zone: 'move.demo',
    delegations: [
      { at: 0, servers: OLD, ttl: 12 },
      { at: 2, servers: NEW, ttl: 12 },
    ],
    old: [{ at: 0, content: zone('move.demo', [oldNs('move.demo', 12), A('www.move.demo', 6, '192.0.2.1')]) }],
    fresh: [{ at: 0, content: zone('move.demo', [newNs('move.demo', 12), A('www.move.demo', 6, '192.0.2.2')]) }],
  },
  {
    // The old provider keeps its copy, with NS records that live longer than those of the parent.
    zone: 'longchild.demo',
    delegations: [
      { at: 0, servers: OLD, ttl: 9 },
      { at: 1, servers: NEW, ttl: 9 },
    ],
    old: [
      {
        at: 0,
        content: zone('longchild.demo', [oldNs('longchild.demo', 60), A('www.longchild.demo', 5, '192.0.2.1')]),
      },
    ],
    fresh: [
      {
        at: 0,
        content: zone('longchild.demo', [newNs('longchild.demo', 60), A('www.longchild.demo', 5, '192.0.2.2')]),
      },
    ],
  },
  {
    // Parent and child name different servers, and these have different records.
    zone: 'differ.demo',
    delegations: always(OLD, 300),
    old: [{ at: 0, content: zone('differ.demo', [newNs('differ.demo', 300), A('www.differ.demo', 5, '192.0.2.1')]) }],
    fresh: [{ at: 0, content: zone('differ.demo', [newNs('differ.demo', 300), A('www.differ.demo', 5, '192.0.2.2')]) }],
  },
  {
    zone: 'suspended.demo',
    delegations: [
      { at: 0, servers: OLD, ttl: 8 },
      { at: 2, servers: undefined, ttl: 0 },
    ],
    old: [
      { at: 0, content: zone('suspended.demo', [oldNs('suspended.demo', 8), A('www.suspended.demo', 5, '192.0.2.1')]) },
    ],
  },
  {
    zone: 'failing.demo',
    delegations: always(OLD, 300),
    old: [
      { at: 0, content: zone('failing.demo', [oldNs('failing.demo', 300), A('www.failing.demo', 6, '192.0.2.1')]) },
      { at: 3, content: 'refused' },
    ],
  },
  {
    zone: 'alias.demo',
    delegations: always(OLD, 300),
    old: [
      {
        at: 0,
        content: zone('alias.demo', [oldNs('alias.demo', 300), CNAME('www.alias.demo', 20, 'www.target.demo')]),
      },
    ],
  },
  {
    zone: 'target.demo',
    delegations: always(NEW, 300),
    fresh: [
      { at: 0, content: zone('target.demo', [newNs('target.demo', 300), A('www.target.demo', 7, '192.0.2.1')]) },
      { at: 3, content: zone('target.demo', [newNs('target.demo', 300), A('www.target.demo', 7, '192.0.2.2')]) },
    ],
  },
  {
    zone: 'lame.demo',
    delegations: always([...OLD, ...NEW], 300),
    old: [{ at: 0, content: 'refused' }],
    fresh: [
      {
        at: 0,
        content: zone('lame.demo', [NS('lame.demo', 300, ...OLD, ...NEW), A('www.lame.demo', 60, '192.0.2.1')]),
      },
    ],
  },
]

export const TIMELINES: readonly Timeline[] = [
  {
    title: 'a record is answered from the cache until its TTL ends',
    asks: [0, 2.5, 5, 9.5, 12.5].map((at) => ({ at, name: 'www.change.demo' })),
  },
  {
    title: 'a denial lives as long as the minimum of the SOA record',
    asks: [0, 4.5, 9.5].map((at) => ({ at, name: 'new.negative.demo' })),
  },
  {
    title: 'a denial lives no longer than the SOA record itself',
    asks: [0, 4.5, 9.5].map((at) => ({ at, name: 'new.soattl.demo' })),
  },
  {
    title: 'a name without the type is denied',
    asks: [0, 3].map((at) => ({ at, name: 'other.negative.demo', type: 'TXT' as const })),
  },
  {
    title: 'after a move to another provider, the old delegation is followed until its TTL ends',
    asks: [0, 4.5, 8, 15.5].map((at) => ({ at, name: 'www.move.demo' })),
  },
  {
    title: 'after a move, the NS records of the old provider can outlive those of the parent',
    asks: [0, 7.2, 14.5].map((at) => ({ at, name: 'www.longchild.demo' })),
  },
  {
    title: 'the NS records of the zone itself are followed, or those of the parent',
    asks: [0, 8.5].map((at) => ({ at, name: 'www.differ.demo' })),
  },
  {
    title: 'a suspended domain is denied when its delegation has expired',
    asks: [0, 4, 10.5].map((at) => ({ at, name: 'www.suspended.demo' })),
  },
  {
    title: 'when the servers of a zone refuse, the record fails, or is served stale',
    asks: [0, 4.5, 10, 14].map((at) => ({ at, name: 'www.failing.demo' })),
  },
  {
    title: 'each record of a CNAME chain has its own TTL',
    asks: [0, 4.5, 9].map((at) => ({ at, name: 'www.alias.demo' })),
  },
  { title: 'a lame server is skipped', asks: [0, 2].map((at) => ({ at, name: 'www.lame.demo' })) },
]

/** The hosts of all timelines: a root, a top-level domain, and two providers. */
export function scriptedHosts(): Host[] {
  const glue = [A('ns1.tld.demo', DAY, TLD_IP)]
  const root = zone('', [NS('', DAY, 'a.root'), A('a.root', DAY, ROOT_IP), NS('demo', DAY, 'ns1.tld.demo'), ...glue])
  const providers = zone('hosts.demo', [
    NS('hosts.demo', DAY, 'ns1.hosts.demo'),
    A('ns1.hosts.demo', DAY, HOSTS_IP),
    A('ns1.old.hosts.demo', DAY, OLD_IP),
    A('ns1.new.hosts.demo', DAY, NEW_IP),
  ])
  const instants = [...new Set([0, ...SCRIPTED.flatMap(({ delegations }) => delegations.map(({ at }) => at))])].sort(
    (a, b) => a - b,
  )
  return [
    { ip: ROOT_IP, name: 'a.root', services: [serviceOf('', [{ at: 0, content: root }])] },
    {
      ip: TLD_IP,
      name: 'ns1.tld.demo',
      services: [
        serviceOf(
          'demo',
          instants.map((at) => ({ at, content: tldAt(at, glue) })),
        ),
      ],
    },
    {
      ip: OLD_IP,
      name: 'ns1.old.hosts.demo',
      services: SCRIPTED.flatMap((one) => (one.old ? serviceOf(one.zone, one.old) : [])),
    },
    {
      ip: NEW_IP,
      name: 'ns1.new.hosts.demo',
      services: SCRIPTED.flatMap((one) => (one.fresh ? serviceOf(one.zone, one.fresh) : [])),
    },
    { ip: HOSTS_IP, name: 'ns1.hosts.demo', services: [serviceOf('hosts.demo', [{ at: 0, content: providers }])] },
  ]
}

function tldAt(at: number, glue: RRset[]): ZoneData {
  const delegations = SCRIPTED.flatMap(({ zone: name, delegations }) => {
    const current = delegations.findLast((one) => one.at <= at)
    return current?.servers ? [NS(name, current.ttl, ...current.servers)] : []
  })
  const providers = [NS('hosts.demo', DAY, 'ns1.hosts.demo'), A('ns1.hosts.demo', DAY, HOSTS_IP)]
  return zone('demo', [NS('demo', DAY, 'ns1.tld.demo'), ...glue, ...providers, ...delegations], {
    ttl: 900,
    minimum: 5,
  })
}

function serviceOf(name: string, versions: Version[]): Service {
  return { zone: name, machines: [versions.map(({ at, content }) => ({ from: at * 1_000, content }))] }
}
