import { type Answer, mergeAnswers } from './outcomes.ts'

/**
 * The members that the answers of several checks contained. Stored while the answers differ, or may differ. `answers`: how many
 * independent answers were counted, with older ones weighted less. `total`: how many there were. `copies`: when the cached copy
 * of each resolver expires (UTC epoch milliseconds), so that the same copy is not counted twice.
 */
export type Rotation = {
  /** When the first of the answers was received, in UTC epoch milliseconds. */
  since: number
  answers: number
  total: number
  members: Record<string, Member>
  copies: Record<string, number>
  /** With resolvers: when the cached copies of the first check that differed expire, in UTC epoch milliseconds. */
  firstCopiesUntil?: number
  /** How many checks in a row received no answer from the zone's name servers. */
  silentChecks?: number
}

/**
 * `seen`: how many independent answers contained it. `last`: the number of the last one. `servers`: up to two that returned it.
 * `copiesUntil`: with resolvers, when the latest cached copy that contained it expires, in UTC epoch milliseconds. `isOnlyCopied`: no
 * name server of the zone returned it.
 */
export type Member = { seen: number; last: number; servers: string[]; copiesUntil?: number; isOnlyCopied?: true }

/** `expiresAt`: of a cached copy, in UTC epoch milliseconds; undefined from an authoritative server. */
export type ReceivedAnswer = { answer: Answer; server: string; at: number; expiresAt?: number }

/** A member in at least this share of the answers is either found or proven absent. */
const MIN_MEMBER_SHARE = 0.05
/** Of a reported verdict. */
export const MAX_ERROR_PROBABILITY = 1e-6
/** Below this probability that a member is still there, more queries are sent. */
export const RECHECK_PROBABILITY = 1e-2
/** This many answers without a value prove that it is absent: 0.95^270 < 1e-6. */
export const ANSWERS_TO_PROVE_ABSENCE = Math.ceil(Math.log(MAX_ERROR_PROBABILITY) / Math.log(1 - MIN_MEMBER_SHARE))
/** Further members are ignored, unless they are expected: their absence would be an alarm. */
export const MAX_MEMBERS = 64
/** Of all members together. An RRset of any size fits. */
const MAX_CHARACTERS = 65_536
/** After this many, older answers count half, so that the shares of members can change. */
const MAX_ANSWERS = 1_000

/** `recorded`: values that every answer contained before. They count as 20 answers from two servers. */
export function newRotation(at: number, recorded: readonly string[] = []): Rotation {
  const known = (): Member => ({ seen: ANSWERS_BEFORE, last: ANSWERS_BEFORE, servers: ['recorded', 'before'] })
  const members = Object.fromEntries(recorded.map((value) => [value, known()]))
  const answers = recorded.length > 0 ? ANSWERS_BEFORE : 0
  return { since: at, answers, total: answers, members, copies: {} }
}

const ANSWERS_BEFORE = 20

/** `expected`: the member keys of the expected values. Pure: returns a new value. */
export function countAnswers(
  rotation: Rotation,
  received: readonly ReceivedAnswer[],
  expected: readonly string[] = [],
): Rotation {
  const next = copyOf(rotation)
  for (const answer of received) countAnswer(next, answer, expected)
  if (next.answers > MAX_ANSWERS) halve(next)
  return { ...next, members: Object.fromEntries(next.members), silentChecks: 0 }
}

/** A mutable copy while answers are counted. */
type RotationDraft = Omit<Rotation, 'members'> & { members: Map<string, Member> }

function copyOf(rotation: Rotation): RotationDraft {
  const members = new Map<string, Member>()
  for (const [key, member] of Object.entries(rotation.members)) {
    members.set(key, { ...member, servers: [...member.servers] })
  }
  return { ...rotation, members, copies: { ...rotation.copies } }
}

function countAnswer(
  rotation: RotationDraft,
  { answer, server, at, expiresAt }: ReceivedAnswer,
  expected: readonly string[],
): void {
  const { members, copies } = rotation
  const isIndependent = expiresAt === undefined || at >= (copies[server] ?? 0)
  if (expiresAt !== undefined && isIndependent) copies[server] = expiresAt
  if (isIndependent) {
    rotation.answers += 1
    rotation.total += 1
  }
  for (const key of memberKeys(answer)) {
    const member = members.get(key) ?? newMember(rotation, key, expected)
    if (!member) continue
    if (expiresAt === undefined) delete member.isOnlyCopied
    else if (member.seen === 0) member.isOnlyCopied = true
    // An answer may contain the same value twice.
    if (isIndependent ? member.last < rotation.total : member.seen === 0) member.seen += 1
    member.last = rotation.total
    if (expiresAt !== undefined) member.copiesUntil = Math.max(member.copiesUntil ?? 0, expiresAt)
    if (member.servers.length < 2 && !member.servers.includes(server)) member.servers.push(server)
  }
}

/** Undefined if the rotation has its maximum of members. */
function newMember(rotation: RotationDraft, key: string, expected: readonly string[]): Member | undefined {
  const { members } = rotation
  if (members.size >= MAX_MEMBERS) removeGone(rotation)
  if (members.size >= MAX_MEMBERS && !expected.includes(key)) return undefined
  const length = [...members.keys()].reduce((sum, known) => sum + known.length, key.length)
  if (length > MAX_CHARACTERS) return undefined
  const member: Member = { seen: 0, last: 0, servers: [] }
  members.set(key, member)
  return member
}

function removeGone(rotation: RotationDraft): void {
  for (const [key, member] of rotation.members) {
    if (presenceProbability(rotation, member) < MAX_ERROR_PROBABILITY) rotation.members.delete(key)
  }
}

function halve(rotation: RotationDraft): void {
  rotation.answers = Math.ceil(rotation.answers / 2)
  for (const member of rotation.members.values()) member.seen = Math.ceil(member.seen / 2)
}

/**
 * The probability that a member that is still there was not in any of the last `absent` answers, after `seen` of the answers
 * before, by the rule of succession (a beta-binomial with a uniform prior).
 */
export function presenceProbability(
  { answers, total }: Pick<Rotation, 'answers' | 'total'>,
  { seen, last }: Member,
): number {
  const absent = total - last
  if (absent === 0) return 1
  const before = Math.max(answers - absent, seen)
  let chance = 1
  for (let step = 1; step <= absent && chance > MAX_ERROR_PROBABILITY / 10; step++) {
    chance *= (before - seen + step) / (before + 1 + step)
  }
  return chance
}

/**
 * `overdue`: present members that were not seen for longer than usual. `servers`: how many servers were queried. If there are
 * several, one alone does not prove a member.
 */
export function classifyMembers(rotation: Rotation, servers: number) {
  const present: string[] = []
  const candidates: string[] = []
  const gone: string[] = []
  const overdue: string[] = []
  for (const [key, member] of Object.entries(rotation.members)) {
    const chance = presenceProbability(rotation, member)
    const isConfirmed = member.seen >= 2 && member.servers.length >= Math.min(2, servers)
    if (chance < MAX_ERROR_PROBABILITY || (!isConfirmed && rotation.total - member.last >= ANSWERS_TO_PROVE_ABSENCE))
      gone.push(key)
    else if (!isConfirmed) candidates.push(key)
    else {
      present.push(key)
      if (chance < RECHECK_PROBABILITY) overdue.push(key)
    }
  }
  return { present: present.sort(), candidates: candidates.sort(), gone, overdue: overdue }
}

export function withoutMembers(rotation: Rotation, keys: readonly string[]): Rotation {
  if (keys.length === 0) return rotation
  const members = Object.fromEntries(Object.entries(rotation.members).filter(([key]) => !keys.includes(key)))
  return { ...rotation, members }
}

/** An answer with these members. `template`: one of the answers they came from. */
export function answerWithMembers(template: Answer, keys: readonly string[]): Answer {
  const { rrset } = template
  if (rrset.type !== 'CNAME') return { ...template, rrset: { ...rrset, values: [...keys].sort() } }
  const links = keys.map((key) => {
    const [name = '', target = ''] = key.split(' ')
    return { name, target, ttl: rrset.ttl }
  })
  const values = links.filter(({ name }) => name === rrset.name).map(({ target }) => target || '.')
  return {
    ...template,
    rrset: { ...rrset, values: values.sort() },
    chain: links.filter(({ name }) => name !== rrset.name),
  }
}

/** The member keys of an RRset's values, without those of its CNAME chain. */
export function memberKeysOf(type: string, owner: string, values: readonly string[]): string[] {
  if (type !== 'CNAME') return [...values]
  return values.map((target) => `${owner} ${target === '.' ? '' : target}`)
}

/** A member is a value. For a CNAME, each record of the chain is a member too. */
export function memberKeys({ rrset, chain }: Answer): string[] {
  const keys = memberKeysOf(rrset.type, rrset.name, rrset.values)
  if (rrset.type !== 'CNAME') return keys
  return [...keys, ...chain.map(({ name, target }) => `${name} ${target}`)]
}

/** The probability that an RRset with one more member would have shown only these. */
export function hiddenMemberProbability(answers: readonly Answer[]): number {
  const mean = answers.reduce((sum, answer) => sum + sizeOf(answer), 0) / answers.length
  return (1 - mean / (sizeOf(mergeAnswers(answers)) + 1)) ** answers.length
}

/** For a CNAME, each record of the chain is a member. */
function sizeOf({ rrset, chain }: Answer): number {
  return rrset.values.length + (rrset.type === 'CNAME' ? chain.length : 0)
}
