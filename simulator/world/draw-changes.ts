import type { Random } from '../random.ts'
import { type Change, DAY, HOUR, MINUTE, type Publication, type Step, sampleValue, type World } from './world.ts'

/** Changes are far enough apart to be noticed; a few are not. */
const USUAL_GAP = 14 * HOUR
/** Only resolvers validate, which keep keys and DS records for up to two days. */
const DNSSEC_GAP = 3 * DAY
const SHORT_GAP = 20 * MINUTE

/** What happens to the zone, in its order. After a failure, the next change is its end. */
export function drawChanges(world: World, initial: Publication, random: Random): Change[] {
  const isRotating = initial.size < initial.members.length
  const count = random.pick(isRotating ? [0, 0, 1, 1, 2] : [0, 0, 1, 1, 2, 3])
  const end = world.days * DAY - 10 * HOUR
  const usualGap = isRotating ? 4 * DAY : USUAL_GAP
  const changes: Change[] = []
  let current: Current = { publication: initial, delegation: world.delegation, ds: world.ds }
  let at = HOUR + random.below(2 * DAY)
  for (let index = 0; index < count && at < end; index++) {
    const drawn = drawChange(world, current, at, random)
    changes.push(drawn.change)
    current = drawn.after
    const gap = drawn.change.kind === 'dnssec' ? Math.max(DNSSEC_GAP, usualGap) : usualGap
    if (drawn.isTemporary) {
      const until = Math.max(...drawn.change.steps.map((step) => step.at)) + (random.chance(0.02) ? SHORT_GAP : gap)
      if (until < end) changes.push({ kind: drawn.change.kind, steps: restore(current, until, world) })
      at = until
    }
    at += (random.chance(0.015) ? SHORT_GAP : gap) + random.below(DAY)
  }
  return changes
}

/** What is published when nothing is broken. */
type Current = { publication: Publication; delegation: readonly number[]; ds: readonly string[] }
type Drawn = { change: Change; after: Current; isTemporary: boolean }

function drawChange(world: World, current: Current, at: number, random: Random): Drawn {
  const kind = pickKind(world, current, random)
  switch (kind) {
    case 'records':
      return changeRecords(world, current, at, random)
    case 'denial':
      return temporary(
        current,
        kind,
        publishAll(world, at, { ...current.publication, content: random.pick(['nxdomain', 'nodata'] as const) }),
      )
    case 'outage':
      return temporary(current, kind, drawOutage(current, at, random))
    case 'secondary':
      return breakSecondary(world, current, at, random)
    case 'move':
      return moveZone(world, current, at, random)
    case 'suspension':
      return temporary(current, kind, [{ at, delegation: null }])
    case 'parking':
      return temporary(current, kind, park(current, at, world))
    case 'hijack':
      return temporary(current, kind, hijack(world, current, at))
    case 'expiry':
    case 'rollover':
      return breakDnssec(world, current, at, kind, random)
  }
}

function pickKind({ privateZone, recordType }: World, { publication, ds }: Current, random: Random) {
  if (privateZone) return 'records'
  if (ds.length > 0 && random.chance(0.5)) return random.pick(['expiry', 'rollover'] as const)
  const kinds = [
    'records',
    'records',
    'records',
    'denial',
    'outage',
    'secondary',
    'move',
    'move',
    'suspension',
    'parking',
    'hijack',
  ] as const
  const kind = random.pick(kinds)
  const isRotating = publication.size < publication.members.length
  return (isRotating && random.chance(0.7)) || (recordType === 'NS' && kind === 'denial') ? 'records' : kind
}

const temporary = (after: Current, kind: Change['kind'], steps: Step[]): Drawn => ({
  change: { kind, steps },
  after,
  isTemporary: true,
})

function publishAll({ providers }: World, at: number, publication: Publication): Step[] {
  return providers.map((_, provider) => ({ at, provider, publication }))
}

/** Everything works again, with what was published before. */
function restore({ publication, delegation, ds }: Current, at: number, world: World): Step[] {
  const servers = world.providers.flatMap((list, provider) =>
    list.map((_, server): Step => ({ at, provider, server, status: 'ok' })),
  )
  return [{ at, delegation }, { at, ds }, ...publishAll(world, at, publication), ...servers]
}

// Records

function changeRecords(world: World, current: Current, at: number, random: Random): Drawn {
  const { publication } = current
  const isRotating = publication.size < publication.members.length
  const kind: Change['kind'] = isRotating ? 'rotation' : 'records'
  if (world.recordType === 'NS') return moveZone(world, current, at, random)
  const next = { ...publication, ...changedMembers(world, publication, random) }
  return {
    change: { kind, steps: publishAll(world, at, next) },
    after: { ...current, publication: next },
    isTemporary: false,
  }
}

function changedMembers(
  { recordType }: World,
  { members, size }: Publication,
  random: Random,
): Pick<Publication, 'members' | 'size'> {
  const used = new Set(members.map(({ value }) => value))
  const unused = () => {
    for (let number = 100; ; number++)
      if (!used.has(sampleValue(recordType, number))) return sampleValue(recordType, number)
  }
  const isWhole = size === members.length
  const choice = random.below(10)
  if (recordType === 'CNAME' || members.length === 1 || choice < 4) {
    const index = random.below(members.length)
    return { members: members.with(index, { ...members[index]!, value: unused() }), size }
  }
  if (choice < 7) {
    const more = [...members, { value: unused(), weight: 1 }]
    return { members: more, size: isWhole ? more.length : size }
  }
  const fewer = members.slice(1)
  return { members: fewer, size: Math.min(size, fewer.length) }
}

// Servers

function drawOutage({ delegation, publication }: Current, at: number, random: Random): Step[] {
  const content = random.pick(['silent', 'servfail', 'refused', 'upward'] as const)
  return delegation.map((provider) => ({ at, provider, publication: { ...publication, content } }))
}

/** One server fails, lags by minutes to days, or takes no changes, while the records may change. The state is that of the others. */
function breakSecondary(world: World, current: Current, at: number, random: Random): Drawn {
  const provider = current.delegation[0]!
  const servers = world.providers[provider]!
  if (servers.length < 3) return changeRecords(world, current, at, random)
  const server = random.below(servers.length)
  const status = random.pick(['stuck', 'stuck', 'silent', 'refused', 'expired'] as const)
  const until = at + random.pick([30 * MINUTE, 6 * HOUR, 2 * DAY])
  const steps: Step[] = [
    { at, provider, server, status },
    { at: until, provider, server, status: 'ok' },
  ]
  const changed = changeRecords(world, current, at + 5 * MINUTE, random)
  return { ...changed, change: { ...changed.change, steps: [...steps, ...changed.change.steps] } }
}

// The registry

/** To another provider, with the steps in any order: hours of overlap, a gap, or the old one that goes on serving its copy. */
function moveZone(world: World, current: Current, at: number, random: Random): Drawn {
  const from = current.delegation[0]!
  const to = (from + 1 + random.below(2)) % world.providers.length
  const hasOtherRecords = world.recordType !== 'NS' && random.chance(0.5)
  const changed = hasOtherRecords ? changedMembers(world, current.publication, random) : {}
  const publication: Publication = { ...current.publication, ...changed, ns: [to] }
  const steps: Step[] = [
    { at: at - HOUR, provider: to, publication },
    { at, delegation: [to] },
  ]
  // The old provider: knows the new NS records, keeps its copy, or ends its service, before or after the parent follows.
  const offset = random.pick([-20 * MINUTE, 0, 0, HOUR, HOUR, 6 * HOUR, 3 * DAY])
  const end = random.pick(['copy', 'copy', 'new_ns', 'refused', 'silent'] as const)
  const old = { at: at + offset, provider: from }
  if (end === 'new_ns') steps.push({ ...old, publication: { ...current.publication, ns: [to] } })
  else if (end !== 'copy') steps.push({ ...old, publication: { ...current.publication, content: end } })
  steps.sort((one, other) => one.at - other.at)
  return { change: { kind: 'move', steps }, after: { ...current, publication, delegation: [to] }, isTemporary: false }
}

/** The registry delegates to a parking service. Its servers answer every name. */
function park({ delegation, publication }: Current, at: number, { providers }: World): Step[] {
  const provider = (delegation[0]! + 1) % providers.length
  return [
    { at: at - MINUTE, provider, publication: { ...unsigned(publication), content: 'parked', ns: [provider] } },
    { at, delegation: [provider] },
    { at, ds: [] },
  ]
}

/** At the registrar: the parent delegates to the attacker, whose zone repeats the legitimate NS records. */
function hijack(world: World, { delegation, publication }: Current, at: number): Step[] {
  const provider = (delegation[0]! + 1) % world.providers.length
  const members = [{ value: sampleValue(world.recordType, 240), weight: 1 }]
  return [
    { at: at - MINUTE, provider, publication: { ...unsigned(publication), members, size: 1, isAlias: false } },
    { at, delegation: [provider] },
    { at, ds: [] },
  ]
}

function unsigned({ signedBy: _, ...publication }: Publication): Publication {
  return publication
}

// DNSSEC

/** Expired signatures, or a rollover done right or wrong. RFC 6781 section 4.1. */
function breakDnssec(world: World, current: Current, at: number, kind: 'expiry' | 'rollover', random: Random): Drawn {
  const { publication, ds } = current
  const { signedBy } = publication
  if (!signedBy) return changeRecords(world, current, at, random)
  const key = ds[0]!
  if (kind === 'expiry') {
    const expired: Publication = { ...publication, signedBy: { ...signedBy, until: at } }
    return temporary(current, 'dnssec', publishAll(world, at, expired))
  }
  const next = `${key}'`
  const renewed: Publication = { ...publication, signedBy: { ...signedBy, key: next } }
  if (random.chance(0.5)) {
    // Wrong: the zone is signed with a key that the parent does not know.
    return temporary(current, 'dnssec', publishAll(world, at, renewed))
  }
  // Right: zone and parent have both keys for longer than caches live, before and after the signatures change.
  const wait = 2 * DAY + HOUR
  const both: Publication = { ...publication, moreKeys: [next] }
  const signedByNext: Publication = { ...renewed, moreKeys: [key] }
  const steps: Step[] = [
    { at, ds: [key, next] },
    ...publishAll(world, at, both),
    ...publishAll(world, at + wait, signedByNext),
    { at: at + 2 * wait, ds: [next] },
    ...publishAll(world, at + 3 * wait, renewed),
  ]
  return {
    change: { kind: 'dnssec', steps },
    after: { ...current, publication: renewed, ds: [next] },
    isTemporary: false,
  }
}
