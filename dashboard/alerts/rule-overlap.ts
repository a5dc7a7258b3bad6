import type { AlertRule } from '#contract/alerts.ts'

type RuleFilters = Pick<
  AlertRule,
  'id' | 'is_active' | 'channels' | 'escalation_channel' | 'groups' | 'record_types' | 'states' | 'name_pattern'
>

/** Whether a channel can receive the same failure from both rules. Tags are not compared, because a monitor can have all of them. */
export function canOverlap(one: RuleFilters, other: RuleFilters): boolean {
  return (
    one.id !== other.id &&
    one.is_active &&
    other.is_active &&
    share(channelsOf(one), channelsOf(other)) &&
    share(one.groups, other.groups) &&
    share(one.record_types, other.record_types) &&
    share(one.states, other.states) &&
    patternsOverlap(one.name_pattern, other.name_pattern)
  )
}

const channelsOf = ({ channels, escalation_channel }: RuleFilters): string[] =>
  escalation_channel === null ? channels : [...channels, escalation_channel]

/** Null means everything. */
const share = (some: readonly string[] | null, others: readonly string[] | null): boolean =>
  some === null || others === null || some.some((value) => others.includes(value))

/** Whether a name can match both: the parts before the first `*` and after the last one must be compatible. */
function patternsOverlap(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return true
  const [a, b] = [one.toLowerCase(), other.toLowerCase()]
  if (!a.includes('*')) return isMatch(b, a)
  if (!b.includes('*')) return isMatch(a, b)
  const [beginA, beginB] = [a.split('*')[0]!, b.split('*')[0]!]
  const [endA, endB] = [a.split('*').at(-1)!, b.split('*').at(-1)!]
  return (beginA.startsWith(beginB) || beginB.startsWith(beginA)) && (endA.endsWith(endB) || endB.endsWith(endA))
}

/** Matches part by part at the first position, so that the time does not grow with the number of `*`. */
function isMatch(pattern: string, name: string): boolean {
  const parts = pattern.split('*')
  if (parts.length === 1) return pattern === name
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let rest = name.slice(first.length, name.length - last.length)
  for (const part of parts.slice(1, -1)) {
    const index = rest.indexOf(part)
    if (index === -1) return false
    rest = rest.slice(index + part.length)
  }
  return true
}
