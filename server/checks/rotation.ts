import type { Answer } from './outcomes.ts'

/**
 * What the answers of several checks held, kept while a name's answers differ from one another or may do so. `answers`: how
 * many independent answers were counted, older ones less; `total`: how many there were. `copies`: when the cached copy that a
 * resolver gave last expires (UTC epoch milliseconds), so that the same copy does not count twice.
 */
export type Rotation = {
  /** When the first of the answers was received, in UTC epoch milliseconds. */
  since: number
  answers: number
  total: number
  members: Record<string, Member>
  copies: Record<string, number>
}

/** `seen`: independent answers that held it. `last`: the number of the last one that did. `servers`: up to two that gave it. */
export type Member = { seen: number; last: number; servers: string[] }

/** One answer to be counted. `expiresAt`: for a cached copy, in UTC epoch milliseconds; undefined from an authoritative server. */
export type Sighting = { answer: Answer; server: string; at: number; expiresAt?: number }

/** A member that comes with this share of the answers, or more often, is found or proven absent. */
export const RAREST_MEMBER = 0.05
/** The chance of error that a report may rest on. */
export const REPORT_CHANCE = 1e-6
/** From this chance on, it is worth more queries whether a member is still there. */
export const DOUBT_CHANCE = 1e-2
/** So many answers without a value prove that no member of at least `RAREST_MEMBER` has it: 0.95^270 < 1e-6. */
export const ANSWERS_TO_PROVE_ABSENCE = Math.ceil(Math.log(REPORT_CHANCE) / Math.log(1 - RAREST_MEMBER))
/** More members are not told apart: new ones are left out. */
export const MOST_MEMBERS = 64
/** Of all members together; one RRset of any size fits. */
const MOST_CHARACTERS = 65_536
/** Beyond this, older answers count half, so that weights may change. */
const MOST_ANSWERS = 1_000

/** `recorded`: values that every answer held before; they count as so many answers, as from two servers. */
export function newRotation(at: number, recorded: readonly string[] = []): Rotation {
  const known = (): Member => ({ seen: ANSWERS_BEFORE, last: ANSWERS_BEFORE, servers: ['recorded', 'before'] })
  const members = Object.fromEntries(recorded.map((value) => [value, known()]))
  const answers = recorded.length > 0 ? ANSWERS_BEFORE : 0
  return { since: at, answers, total: answers, members, copies: {} }
}

/** An RRset that was given whole for as long as it was recorded. */
const ANSWERS_BEFORE = 20

/** Counts further answers. Pure: returns a new value. */
export function addSightings(rotation: Rotation, sightings: readonly Sighting[]): Rotation {
  const next = copyOf(rotation)
  for (const sighting of sightings) addSighting(next, sighting)
  if (next.answers > MOST_ANSWERS) halve(next)
  return next
}

function copyOf(rotation: Rotation): Rotation {
  // Values come from outside: `__proto__` is one like any other.
  const members: Rotation['members'] = Object.create(null)
  for (const [key, { seen, last, servers }] of Object.entries(rotation.members)) {
    members[key] = { seen, last, servers: [...servers] }
  }
  return { ...rotation, members, copies: { ...rotation.copies } }
}

function addSighting(rotation: Rotation, { answer, server, at, expiresAt }: Sighting): void {
  const { members, copies } = rotation
  const isIndependent = expiresAt === undefined || at >= (copies[server] ?? 0)
  if (expiresAt !== undefined && isIndependent) copies[server] = expiresAt
  const keys = new Set(keysOf(answer))
  if (isIndependent) {
    rotation.answers += 1
    rotation.total += 1
  }
  for (const key of keys) {
    if (!Object.hasOwn(members, key)) {
      if (Object.keys(members).length >= MOST_MEMBERS) dropGone(rotation)
      const known = Object.keys(members)
      if (known.length >= MOST_MEMBERS || known.reduce((sum, { length }) => sum + length, key.length) > MOST_CHARACTERS)
        continue
      members[key] = { seen: 0, last: 0, servers: [] }
    }
    const member = members[key]!
    if (isIndependent || member.seen === 0) member.seen += 1
    member.last = rotation.total
    if (member.servers.length < 2 && !member.servers.includes(server)) member.servers.push(server)
  }
}

/** Members that are gone leave their places to new ones. */
function dropGone(rotation: Rotation): void {
  for (const [key, member] of Object.entries(rotation.members)) {
    if (chanceStillThere(rotation, member) < REPORT_CHANCE) delete rotation.members[key]
  }
}

function halve(rotation: Rotation): void {
  rotation.answers = Math.ceil(rotation.answers / 2)
  for (const member of Object.values(rotation.members)) member.seen = Math.ceil(member.seen / 2)
}

/**
 * The chance that a member which is still there stays unseen for as long as it has been: of `seen` in the answers before, then
 * in none of `absent` answers, by the rule of succession (a beta-binomial with a uniform prior).
 */
export function chanceStillThere({ answers, total }: Rotation, { seen, last }: Member): number {
  const absent = total - last
  if (absent === 0) return 1
  const before = Math.max(answers - absent, seen)
  let chance = 1
  for (let step = 1; step <= absent && chance > REPORT_CHANCE / 10; step++) {
    chance *= (before - seen + step) / (before + 1 + step)
  }
  return chance
}

/**
 * Members by what is known of them. `doubtful`: those present that were not seen for longer than usual. `servers`: how many
 * servers were heard, as one of several proves no member.
 */
export function sortMembers(rotation: Rotation, servers: number) {
  const present: string[] = []
  const candidates: string[] = []
  const gone: string[] = []
  const doubtful: string[] = []
  for (const [key, member] of Object.entries(rotation.members)) {
    const chance = chanceStillThere(rotation, member)
    const isConfirmed = member.seen >= 2 && member.servers.length >= Math.min(2, servers)
    if (chance < REPORT_CHANCE || (!isConfirmed && rotation.total - member.last >= ANSWERS_TO_PROVE_ABSENCE))
      gone.push(key)
    else if (!isConfirmed) candidates.push(key)
    else {
      present.push(key)
      if (chance < DOUBT_CHANCE) doubtful.push(key)
    }
  }
  return { present: present.sort(), candidates: candidates.sort(), gone, doubtful }
}

/** The rotation without some of its members. */
export function without(rotation: Rotation, keys: readonly string[]): Rotation {
  if (keys.length === 0) return rotation
  const members = Object.fromEntries(Object.entries(rotation.members).filter(([key]) => !keys.includes(key)))
  return { ...rotation, members }
}

/** An answer that holds these members; `like` is one of the answers they came from. */
export function answerWith(like: Answer, keys: readonly string[]): Answer {
  const { rrset } = like
  if (rrset.type !== 'CNAME') return { ...like, rrset: { ...rrset, values: [...keys].sort() } }
  const links = keys.map((key) => {
    const [name = '', target = ''] = key.split(' ')
    return { name, target, ttl: rrset.ttl }
  })
  const values = links.filter(({ name }) => name === rrset.name).map(({ target }) => target || '.')
  return { ...like, rrset: { ...rrset, values: values.sort() }, chain: links.filter(({ name }) => name !== rrset.name) }
}

/** What counts as a member: a value; where the names on the way count, each CNAME record. */
function keysOf({ rrset, chain }: Answer): string[] {
  if (rrset.type !== 'CNAME') return rrset.values
  const own = rrset.values.map((target) => `${rrset.name} ${target === '.' ? '' : target}`)
  return [...own, ...chain.map(({ name, target }) => `${name} ${target}`)]
}
