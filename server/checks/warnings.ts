import type { Warning } from '#contract/warnings.ts'
import { isStale, isUsable, type Outcome, type Reply } from '../dns/outcome.ts'
import { delegationKey, type ZoneView } from '../dns/resolver/zone-view.ts'
import { truncate } from '../text.ts'
import type { CheckSoFar, NameServerReply } from './check-state.ts'
import { isAnswer, isSame, majority, serverOf } from './outcomes.ts'
import type { Confirmation } from './reasons.ts'
import { isOfOwnView } from './verdict.ts'
import { zoneReplies } from './zone-rules.ts'

/** Stored for each list: the diagnosis is limited. */
const MAX_NAMES = 8
const MAX_VALUES = 3
const MAX_CHARACTERS = 100

const limited = (texts: readonly string[], max = MAX_NAMES) =>
  texts.slice(0, max).map((text) => truncate(text, MAX_CHARACTERS))

/** What the check noticed beside its verdict. `outcome`: undefined if it is not certain yet. Pure. */
export function warningsOf(check: CheckSoFar, outcome: Outcome | undefined, confirmation: Confirmation): Warning[] {
  const { view, replies } = zoneReplies(check)
  if (!view || isOfOwnView(confirmation)) return []
  return [
    ...warningsOfServers(replies, outcome ?? majority(outcomesOf(replies), check.recorded.fingerprint)),
    ...warningsOfDelegation(view),
    ...(outcome && isUsable(outcome) ? warningsOfResolvers(check, outcome) : []),
  ]
}

const outcomesOf = (replies: readonly NameServerReply[]) => replies.map(({ outcome }) => outcome)

function warningsOfServers(replies: readonly NameServerReply[], outcome: Outcome | undefined): Warning[] {
  const isOther = (reply: NameServerReply) =>
    outcome !== undefined &&
    isUsable(reply.outcome) &&
    !isSame(reply.outcome, outcome) &&
    !isPartOf(reply.outcome, outcome)
  const differing = replies.filter(isOther)
  const [first] = differing
  const values = first && isAnswer(first.outcome) ? limited(first.outcome.rrset.values, MAX_VALUES) : []
  const ofKinds = (...kinds: Outcome['kind'][]) =>
    namesOf(replies.filter(({ outcome }) => kinds.includes(outcome.kind) && !isWithoutTcp(outcome)))
  const warnings: Warning[] = [
    { code: 'name_servers_differ', params: { name_servers: namesOf(differing), values } },
    { code: 'name_servers_silent', params: { name_servers: ofKinds('timeout', 'unreachable') } },
    {
      code: 'name_servers_without_tcp',
      params: { name_servers: namesOf(replies.filter(({ outcome }) => isWithoutTcp(outcome))) },
    },
    { code: 'name_servers_lame', params: { name_servers: ofKinds('lame', 'referral') } },
    { code: 'name_servers_fail', params: { name_servers: ofKinds('failure', 'malformed') } },
  ]
  return warnings.filter(({ params }) => 'name_servers' in params && params.name_servers.length > 0)
}

const isWithoutTcp = (outcome: Outcome) => outcome.kind === 'unreachable' && outcome.isTruncated === true

/** A server that did not answer has its place in the delegation only. */
function namesOf(replies: readonly NameServerReply[]): string[] {
  const names = replies.map(({ nameServer, nameServers, server }) => nameServer ?? nameServers[server] ?? '')
  return limited([...new Set(names)].filter((name) => name !== ''))
}

function warningsOfDelegation({ zone, parents, nameServers, ownNameServers }: ZoneView): Warning[] {
  const warnings: Warning[] = []
  const parent = nameServers.map(({ name }) => name).sort()
  const others = parents.filter((each) => delegationKey(each.nameServers) !== delegationKey(parent))
  if (others.length > 0 && others.length < parents.length)
    warnings.push({
      code: 'delegations_differ',
      params: { zone, name_servers: limited(others.map(({ server }) => server)) },
    })
  if (ownNameServers !== null && parents.length > 0 && delegationKey(ownNameServers) !== delegationKey(parent))
    warnings.push({
      code: 'parent_and_child_differ',
      params: { zone, parent: limited(parent), child: limited(ownNameServers) },
    })
  return warnings
}

function warningsOfResolvers({ observations }: CheckSoFar, outcome: Outcome): Warning[] {
  const outdated = new Map<string, number>()
  const stale = new Set<string>()
  for (const observation of observations) {
    const { query, at } = observation
    if (!('reply' in observation) || !['first', 'retry', 'resolver_sample'].includes(query.purpose)) continue
    const { reply } = observation
    if (isStale(reply)) stale.add(serverOf(reply))
    if (!isUsable(reply.outcome) || isSame(reply.outcome, outcome) || isPartOf(reply.outcome, outcome)) continue
    outdated.set(serverOf(reply), at + ttlOf(reply) * 1_000)
  }
  const latest = Math.max(0, ...outdated.values())
  return [
    ...(outdated.size === 0
      ? []
      : [
          {
            code: 'resolvers_outdated' as const,
            params: { resolvers: limited([...outdated.keys()]), expires_at: new Date(latest).toISOString() },
          },
        ]),
    ...(stale.size === 0 ? [] : [{ code: 'resolvers_stale' as const, params: { resolvers: limited([...stale]) } }]),
  ]
}

const ttlOf = ({ outcome }: Reply): number => (isAnswer(outcome) ? outcome.rrset.ttl : 0)

/** An answer with some members of a rotating RRset. */
function isPartOf(outcome: Outcome, whole: Outcome): boolean {
  if (!isAnswer(whole) || whole.pool === undefined || !isAnswer(outcome)) return false
  return outcome.rrset.values.every((value) => whole.rrset.values.includes(value))
}
