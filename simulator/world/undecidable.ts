import type { TimeRange } from '../dns/host.ts'
import { MODELS } from '../dns/policies.ts'
import { cacheLifetime, isRotatingWorld, isSourceHidden, type JudgedEvent, usualMembers } from './judgement.ts'
import { FAILURES, type Truth, type Vote } from './truth.ts'
import { MINUTE, type Publication, regionalValue, stepsOf, type World } from './world.ts'

/** A case in which every strategy can be wrong. docs/explanation/checks.md has the rule for each. */
export type Undecidable = {
  /** As in docs/explanation/checks.md. */
  case: string
  /** Of all worlds. A larger share would hide faults. */
  maxPercent: number
  isIn(world: World, truths: readonly Truth[]): boolean
  /** Whether the rule for the case permits a false event. Default: no. */
  permits?(world: World, truths: readonly Truth[], event: JudgedEvent): boolean
}

export const UNDECIDABLE: readonly Undecidable[] = [
  {
    case: 'Name servers of a zone disagree permanently, with as many on each side',
    maxPercent: 1,
    isIn: (_, truths) =>
      truths.some((truth) => {
        const working = truth.votes.filter(({ published }) => published.kind !== 'failing')
        return !truth.decided && working.length > 1 && isLasting(truth)
      }),
    permits: (_, truths, event) => isPublished(truths, event),
  },
  {
    case: 'Fewer than half of the name servers answer',
    maxPercent: 1,
    isIn: (_, truths) =>
      truths.some((truth) => {
        const failing = truth.votes.find(({ published }) => published.kind === 'failing')?.servers ?? 0
        return failing * 2 > truth.delegated && failing < truth.delegated && isLasting(truth)
      }),
    permits: (_, truths, event) => FAILURES.includes(event.state) || isPublished(truths, event),
  },
  {
    case: 'A member is in less than 5 % of the answers',
    maxPercent: 1,
    isIn: (_, truths) =>
      truths.some(({ votes }) =>
        votes.some(({ published: one }) => one.kind === 'records' && usualMembers(one).length < one.members.length),
      ),
    permits: (_, truths, event) => isPublished(truths, event),
  },
  {
    case: 'DNSSEC fails, and no resolver validates',
    maxPercent: 1,
    isIn: ({ resolvers }, truths) => {
      const isBogus = truths.some(({ votes }) =>
        votes.some(({ published: one }) => one.kind !== 'failing' && one.isBogus),
      )
      const validating = resolvers.filter(({ model, status }) => status === 'ok' && MODELS[model]!.validates)
      return isBogus && validating.length === 0
    },
    permits: (_, truths, event) => isPublished(truths, event),
  },
  {
    case: 'Resolvers receive the records of another region, and the zone cannot be queried',
    maxPercent: 1,
    isIn: (world) => world.resolvers.some(({ region }) => region !== '') && (isSourceHidden(world) || world.truncates),
    permits: ({ recordType }, _, { values = [] }) => values.length === 1 && values[0] === regionalValue(recordType),
  },
  {
    case: 'A rotation, or a resolver that lies or has a forged answer, is seen only through caches',
    maxPercent: 2,
    isIn: (world) => isSourceHidden(world) && (isRotatingWorld(world) || isMisled(world)),
    permits: () => true,
  },
  {
    case: 'Name servers that disagree are seen only through caches',
    maxPercent: 1,
    isIn: (world, truths) =>
      isSourceHidden(world) && truths.some((truth) => truth.votes.length > 1 && isLasting(truth)),
    permits: (_, truths, event) => isPublished(truths, event),
  },
  {
    case: 'Caches still ask a provider that no longer serves the zone, and only caches can be queried',
    maxPercent: 1,
    isIn: (world) => isSourceHidden(world) && failuresByOldDelegation(world).length > 0,
    permits: (world, _, { at, state }) =>
      FAILURES.includes(state) && failuresByOldDelegation(world).some(({ from, to }) => from <= at && at <= to),
  },
  {
    case: 'A name server of a rotating RRset is behind the others',
    maxPercent: 1,
    isIn: (_, truths) =>
      truths.some((truth) => {
        const answering = truth.votes.filter(({ published }) => published.kind === 'records')
        return answering.length > 1 && answering.some(isRotatingVote) && isLasting(truth)
      }),
    permits: (_, truths, event) => isPublished(truths, event),
  },
  {
    case: 'Your own network fails, without `DNS_CANARIES`',
    maxPercent: 1,
    isIn: ({ canaries, outages, captive }) => !canaries && outages.length + captive.length > 0,
    permits: ({ outages, captive }, _, { startedAt, at }) =>
      [...outages, ...captive].some(({ from, to }) => from <= at && to >= startedAt - 15 * MINUTE),
  },
]

/** The cases that apply to the world. */
export function undecidableCases(world: World, truths: readonly Truth[]): Undecidable[] {
  return UNDECIDABLE.filter(({ isIn }) => isIn(world, truths))
}

const FAILING: readonly Publication['content'][] = ['refused', 'servfail', 'silent', 'upward']

/** While a cache may have the delegation to a provider that is no longer delegated to, and whose servers fail. */
function failuresByOldDelegation(world: World): TimeRange[] {
  const ranges: TimeRange[] = []
  const contents = world.publications.map(({ content }) => content)
  const leftAt = new Map<number, number>()
  let delegation: readonly number[] = world.delegation
  for (const step of stepsOf(world)) {
    if ('delegation' in step) {
      const next = step.delegation ?? []
      for (const provider of delegation.filter((one) => !next.includes(one))) leftAt.set(provider, step.at)
      for (const provider of next) leftAt.delete(provider)
      delegation = next
    }
    if ('publication' in step) contents[step.provider] = step.publication.content
    for (const [provider, left] of leftAt) {
      const to = left + cacheLifetime(world)
      if (FAILING.includes(contents[provider]!) && step.at < to) ranges.push({ from: step.at, to })
    }
  }
  return ranges
}

/** Longer than a change needs to reach all servers. */
function isLasting({ isSpreading, from, to }: Truth): boolean {
  return !isSpreading && to - from > 15 * MINUTE
}

function isRotatingVote({ published: one }: Vote): boolean {
  return one.kind === 'records' && one.size < one.members.length
}

function isMisled({ resolvers, poisoned }: World): boolean {
  return (
    poisoned.length > 0 ||
    resolvers.some(({ status, rewritesNxdomain }) => status === 'lies' || rewritesNxdomain === true)
  )
}

/** Whether a server publishes these values, or the failure, at any time of the world. */
function isPublished(truths: readonly Truth[], { state, values = [] }: JudgedEvent): boolean {
  const published = truths.flatMap(({ votes }) => votes.map((vote) => vote.published))
  if (state === 'VALID' || state === 'MISMATCH') {
    return values.every((value) => published.some((one) => one.kind === 'records' && one.values.includes(value)))
  }
  if (FAILURES.includes(state)) return published.some((one) => one.kind === 'failing' || one.isBogus)
  return published.some(({ kind }) => kind === (state === 'NOT_FOUND' ? 'nxdomain' : 'nodata'))
}
