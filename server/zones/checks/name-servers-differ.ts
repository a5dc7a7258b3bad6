import { Type } from 'typebox'
import { listed } from '#contract/reason-wording.ts'
import { isAnswering } from '../facts.ts'
import { aboutZone, type DelegatedZone, UNKNOWN, zoneCheck } from '../zone-check.ts'

export const nameServersDiffer = zoneCheck({
  code: 'name_servers_differ',
  level: 'warning',
  about:
    'The NS records in the parent zone and those in the zone itself are different sets that have names in common. RFC 1034 section 4.2.2.',
  params: {
    zone: Type.String(),
    only_parent: Type.Array(Type.String()),
    only_zone: Type.Array(Type.String()),
  },
  text: ({ zone, only_parent, only_zone }) =>
    [
      only_parent.length > 0 &&
        `The parent zone delegates ${zone} to ${listed(only_parent)}, which its own NS records lack.`,
      only_zone.length > 0 &&
        `The NS records of ${zone} name ${listed(only_zone)}, to which the parent zone does not delegate.`,
    ]
      .filter(Boolean)
      .join(' '),
  advice: ({ zone }) => `Enter the same name servers at the registrar and in the NS records of ${zone}.`,
  find: (zone) => {
    const sets = nameServerSets(zone)
    if (!sets) return UNKNOWN
    const { parent, child } = sets
    const onlyParent = parent.filter((name) => !child.includes(name))
    const onlyZone = child.filter((name) => !parent.includes(name))
    const isDifferent = onlyParent.length + onlyZone.length > 0 && onlyParent.length < parent.length
    return aboutZone(isDifferent ? { zone: zone.zone, only_parent: onlyParent, only_zone: onlyZone } : undefined)
  },
})

/** Undefined if no server of the zone said its NS records. If they disagree, those that any of them has. */
export function nameServerSets({ facts, servers }: DelegatedZone): { parent: string[]; child: string[] } | undefined {
  const own = servers.filter(isAnswering).flatMap(({ response }) => response.nameServers ?? [])
  if (own.length === 0) return undefined
  return { parent: facts.delegation.nameServers, child: [...new Set(own)].sort() }
}
