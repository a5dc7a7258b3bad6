import type { Random } from '../random.ts'
import { isWithin, parentOf, type Question, type RecordType, type Response, type RRset, response } from './message.ts'

/** `weight`: members with a greater weight are in more answers. */
export type Member = { value: string; weight: number }

/** `size`: how many of the members one answer contains; all of them if it is not smaller. `regions`: other values for their clients. */
export type ZoneRRset = RRset & {
  members?: readonly Member[]
  size?: number
  regions?: Readonly<Record<string, readonly string[]>>
}

/** One version of a zone. `rrsets`: by `name type`. `cuts`: names below the origin that are delegated. */
export type ZoneData = {
  origin: string
  soa: RRset
  rrsets: ReadonlyMap<string, ZoneRRset>
  names: ReadonlySet<string>
  cuts: ReadonlySet<string>
  /** Answers every name with these values, like a parking service. */
  wildcard?: readonly string[]
}

export function newZone(
  origin: string,
  soa: { ttl: number; minimum: number; serial?: number },
  rrsets: readonly ZoneRRset[],
  wildcard?: readonly string[],
): ZoneData {
  const { ttl, minimum, serial = 1 } = soa
  const values = [`ns.${origin || 'root'} hostmaster.${origin || 'root'} ${serial} 3600 600 86400 ${minimum}`]
  const names = new Set<string>([origin])
  for (const { name } of rrsets) {
    for (let at = name; at !== origin && isWithin(at, origin); at = parentOf(at)) names.add(at)
  }
  return {
    origin,
    soa: { name: origin, type: 'SOA', ttl, minimum, values },
    rrsets: new Map(rrsets.map((rrset) => [`${rrset.name} ${rrset.type}`, rrset])),
    names,
    cuts: new Set(rrsets.filter(({ type, name }) => type === 'NS' && name !== origin).map(({ name }) => name)),
    ...(wildcard ? { wildcard } : {}),
  }
}

/** How an authoritative server answers from a zone. RFC 1034 section 4.3.2, RFC 2308, RFC 4035 section 3.1.4. */
export function answerFromZone(
  zone: ZoneData,
  question: Question,
  client: string,
  draw: (rrset: ZoneRRset, client: string) => RRset,
): Response {
  const answer: RRset[] = []
  let { name } = question
  for (let links = 0; links < 16; links++) {
    const cut = cutAbove(zone, name, question.type)
    if (cut !== undefined) return links === 0 ? referral(zone, cut) : response('NOERROR', true, { answer })
    const own = find(zone, name, question.type)
    if (own) {
      answer.push(draw(own, client))
      return response('NOERROR', true, { answer, authority: apexNs(zone, question) })
    }
    const alias = question.type === 'CNAME' ? undefined : find(zone, name, 'CNAME')
    if (!alias) return negative(zone, name, answer)
    const link = draw(alias, client)
    answer.push(link)
    name = link.values[0]!
    if (!isWithin(name, zone.origin)) return response('NOERROR', true, { answer })
  }
  return response('NOERROR', true, { answer })
}

function find(zone: ZoneData, name: string, type: RecordType): ZoneRRset | undefined {
  const own = zone.rrsets.get(`${name} ${type}`)
  if (type === 'SOA' && name === zone.origin) return zone.soa
  if (own || !zone.wildcard || type !== 'A' || zone.names.has(name)) return own
  return { name, type, ttl: 300, values: zone.wildcard }
}

/** The highest zone cut at or above the name. The DS records of a cut belong to the parent's side. RFC 4035 section 3.1.4.1. */
function cutAbove({ cuts, origin }: ZoneData, name: string, type: RecordType): string | undefined {
  if (cuts.size === 0) return undefined
  let highest: string | undefined
  for (let at = name; at !== origin; at = parentOf(at)) {
    if (cuts.has(at) && !(type === 'DS' && at === name)) highest = at
    if (at === '') break
  }
  return highest
}

function referral({ rrsets }: ZoneData, cut: string): Response {
  const ns = rrsets.get(`${cut} NS`)!
  const ds = rrsets.get(`${cut} DS`)
  const glue = ns.values.flatMap((server) => rrsets.get(`${server} A`) ?? [])
  return response('NOERROR', false, { authority: ds ? [ns, ds] : [ns], additional: glue })
}

/** The TTL of the SOA record in a denial is that of the denial. RFC 2308 section 3. */
function negative({ names, soa, rrsets }: ZoneData, name: string, answer: readonly RRset[]): Response {
  const signature = rrsets.get(`${soa.name} DNSKEY`)?.signature
  const ttl = Math.min(soa.ttl, soa.minimum ?? soa.ttl)
  const authority = [signature ? { ...soa, ttl, signature } : { ...soa, ttl }]
  return response(names.has(name) ? 'NOERROR' : 'NXDOMAIN', true, { answer, authority })
}

/** Many servers repeat the zone's own NS records beside an answer. */
function apexNs({ rrsets, origin }: ZoneData, { name, type }: Question): RRset[] {
  const ns = rrsets.get(`${origin} NS`)
  return !ns || (type === 'NS' && name === origin) || type === 'DNSKEY' ? [] : [ns]
}

/** The values of one answer: those for the client's region, or a random part of a rotating RRset. */
export function drawValues(rrset: ZoneRRset, client: string, random: Random): RRset {
  const { members, size = 0, regions, ...plain } = rrset
  const regional = regions?.[client]
  if (regional) return { ...plain, values: regional }
  if (!members || size >= members.length) return regions ? plain : rrset
  const remaining = [...members]
  const values: string[] = []
  for (let count = 0; count < size; count++) {
    let point = random.next() * remaining.reduce((sum, { weight }) => sum + weight, 0)
    let index = 0
    while (index < remaining.length - 1 && point >= remaining[index]!.weight) point -= remaining[index++]!.weight
    values.push(remaining.splice(index, 1)[0]!.value)
  }
  return { ...plain, values: values.sort() }
}
