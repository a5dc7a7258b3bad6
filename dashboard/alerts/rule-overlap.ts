import type { AlertRule } from '#contract/alerts.ts'

type Compared = Pick<
  AlertRule,
  'id' | 'is_active' | 'channels' | 'escalation_channel' | 'groups' | 'record_types' | 'states' | 'name_pattern'
>

/** Whether a channel may receive one failure from both rules. A monitor may have the tags of both, so tags are not compared. */
export function mayOverlap(one: Compared, other: Compared): boolean {
  return (
    one.id !== other.id &&
    one.is_active &&
    other.is_active &&
    share(channelsOf(one), channelsOf(other)) &&
    share(one.groups, other.groups) &&
    share(one.record_types, other.record_types) &&
    share(one.states, other.states) &&
    mayMatchOne(one.name_pattern, other.name_pattern)
  )
}

const channelsOf = ({ channels, escalation_channel }: Compared): string[] =>
  escalation_channel === null ? channels : [...channels, escalation_channel]

/** Null stands for everything. */
const share = (some: readonly string[] | null, others: readonly string[] | null): boolean =>
  some === null || others === null || some.some((value) => others.includes(value))

/** Whether a name may match both: their beginnings before the first `*`, and their ends after the last one, must fit. */
function mayMatchOne(one: string | null, other: string | null): boolean {
  if (one === null || other === null) return true
  const [a, b] = [one.toLowerCase(), other.toLowerCase()]
  if (!a.includes('*')) return isMatch(b, a)
  if (!b.includes('*')) return isMatch(a, b)
  const [beginA, beginB] = [a.split('*')[0]!, b.split('*')[0]!]
  const [endA, endB] = [a.split('*').at(-1)!, b.split('*').at(-1)!]
  return (beginA.startsWith(beginB) || beginB.startsWith(beginA)) && (endA.endsWith(endB) || endB.endsWith(endA))
}

/** Part after part, each at its first place, so that the time does not grow with the number of `*`. */
function isMatch(pattern: string, name: string): boolean {
  const parts = pattern.split('*')
  if (parts.length === 1) return pattern === name
  const [first, last] = [parts[0]!, parts.at(-1)!]
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let rest = name.slice(first.length, name.length - last.length)
  for (const part of parts.slice(1, -1)) {
    const at = rest.indexOf(part)
    if (at === -1) return false
    rest = rest.slice(at + part.length)
  }
  return true
}
