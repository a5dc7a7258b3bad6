import { Type } from 'typebox'
import { listed } from '#contract/reason-wording.ts'
import { aboutZone, UNKNOWN, zoneCheck } from '../zone-check.ts'
import { nameServerSets } from './name-servers-differ.ts'

export const nameServersDisjoint = zoneCheck({
  code: 'name_servers_disjoint',
  level: 'error',
  about: 'The NS records in the parent zone and those in the zone itself have no name in common.',
  params: { zone: Type.String(), parent: Type.Array(Type.String()), child: Type.Array(Type.String()) },
  text: ({ zone, parent, child }) =>
    `The parent zone delegates ${zone} to ${listed(parent)}, but its own NS records are ${listed(child)}.`,
  advice: ({ zone }) =>
    `Decide which name servers ${zone} has, and enter them at the registrar and in its NS records. Resolvers may follow either set.`,
  find: (zone) => {
    const sets = nameServerSets(zone)
    if (!sets) return UNKNOWN
    const isDisjoint = !sets.parent.some((name) => sets.child.includes(name))
    return aboutZone(isDisjoint ? { zone: zone.zone, ...sets } : undefined)
  },
})
