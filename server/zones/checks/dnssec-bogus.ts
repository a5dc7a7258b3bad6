import { Type } from 'typebox'
import { DnssecCause, dnssecFindingText } from '#contract/dnssec.ts'
import { isAnswering, type ServerFacts } from '../facts.ts'
import { aboutZone, UNKNOWN, zoneCheck } from '../zone-check.ts'

export const dnssecBogus = zoneCheck({
  code: 'dnssec_bogus',
  level: 'critical',
  about:
    'The answers of all name servers fail DNSSEC validation, so that validating resolvers do not resolve the zone.',
  params: { zone: Type.String(), name_servers: Type.Array(Type.String()), cause: DnssecCause },
  text: ({ zone, ...params }) => `${zone} fails DNSSEC validation everywhere: ${dnssecFindingText(params)}`,
  advice: ({ zone, cause }) =>
    cause.code === 'no_keys' || cause.code === 'no_key_for_ds'
      ? `Sign ${zone} with a key that the DS records at the registrar match, or remove the DS records there.`
      : `Sign ${zone} again, and transfer it to all name servers. If that takes time, remove the DS records at the registrar.`,
  find: ({ zone, servers }) => {
    const verdicts = validated(servers)
    if (!verdicts) return UNKNOWN
    const { bogus, others } = verdicts
    const [first] = bogus
    if (!first || others > 0) return []
    return aboutZone({ zone, name_servers: bogus.map(({ name }) => name), cause: first.cause })
  },
})

type Bogus = { name: string; cause: DnssecCause }

/** Undefined if no server was validated. `others`: those whose answers are not bogus. */
export function validated(servers: readonly ServerFacts[]): { bogus: Bogus[]; others: number } | undefined {
  const verdicts = servers.filter(isAnswering).flatMap(({ name, response: { verdict } }) => {
    return verdict && verdict.kind !== 'unknown' ? [{ name, verdict }] : []
  })
  if (verdicts.length === 0) return undefined
  const bogus = verdicts.flatMap(({ name, verdict }) =>
    verdict.kind === 'bogus' ? [{ name, cause: verdict.cause }] : [],
  )
  return { bogus, others: verdicts.length - bogus.length }
}
