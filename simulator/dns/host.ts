import type { Random } from '../random.ts'
import { isWithin, type Query, type Response, response } from './message.ts'
import { answerFromZone, drawValues, type ZoneData } from './zone.ts'

/**
 * What a server answers for a zone: a version of it, or a failure. `refused`: it does not know the zone. `upward`: it refers to
 * the root, like an old lame server. `unsigned` is not a status: an unsigned version is data.
 */
export type Content = ZoneData | 'refused' | 'servfail' | 'silent' | 'upward'

/** The content from each instant on (virtual milliseconds), oldest first. */
export type Timeline = readonly { from: number; content: Content }[]

/** `machines`: the timelines of the machines behind the address; a query reaches any of them. */
export type Service = { zone: string; machines: readonly Timeline[] }

export type TimeRange = { from: number; to: number }

/** One address. `loss`: the share of lost queries. `down`: it does not respond. `perSecond`: response rate limiting. */
export type Host = {
  ip: string
  name: string
  services: readonly Service[]
  loss?: number
  down?: readonly TimeRange[]
  perSecond?: number
  /** Its answers with records do not arrive: they are truncated, and it does not answer over TCP. */
  isTruncating?: true
}

/** Undefined if no response comes. */
export function askHost(host: Host, query: Query, time: number, random: Random): Response | undefined {
  if (host.loss !== undefined && random.chance(host.loss)) return undefined
  if (host.down && isDuring(host.down, time)) return undefined
  const content = contentAt(host, query, time, random)
  switch (content) {
    case 'silent':
      return undefined
    case 'refused':
      return response('REFUSED', false)
    case 'servfail':
      return response('SERVFAIL', false)
    case 'upward':
      return response('NOERROR', false, { authority: [{ name: '', type: 'NS', ttl: 3_600_000, values: ['a.root'] }] })
    default: {
      const reply = answerFromZone(content, query, query.client, (rrset, client) => drawValues(rrset, client, random))
      return host.isTruncating && reply.answer.length > 0 ? undefined : reply
    }
  }
}

function contentAt({ services }: Host, { name, type }: Query, time: number, random: Random): Content {
  let best: Service | undefined
  for (const service of services) {
    if (!isWithin(name, service.zone) || (type === 'DS' && name === service.zone && services.length > 1)) continue
    if (best === undefined || service.zone.length > best.zone.length) best = service
  }
  if (best === undefined) return 'refused'
  const { machines } = best
  return atTime(machines[machines.length > 1 ? random.below(machines.length) : 0]!, time)
}

export function atTime(timeline: Timeline, time: number): Content {
  let content: Content = timeline[0]?.content ?? 'refused'
  for (const step of timeline) {
    if (step.from > time) break
    content = step.content
  }
  return content
}

export function isDuring(ranges: readonly TimeRange[], time: number): boolean {
  return ranges.some(({ from, to }) => time >= from && time < to)
}
