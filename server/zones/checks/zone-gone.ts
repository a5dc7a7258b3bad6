import { Type } from 'typebox'
import { zoneCheck } from '../zone-check.ts'

export const zoneGone = zoneCheck({
  code: 'zone_gone',
  level: 'critical',
  about: 'The servers of the parent zone no longer delegate the zone. Its names stop resolving when the caches expire.',
  params: { zone: Type.String(), parent: Type.String({ description: 'The zone in which the name is now.' }) },
  text: ({ zone, parent }) => `The servers of ${parent || 'the root zone'} no longer delegate ${zone}.`,
  advice: ({ zone }) =>
    `Ask the registrar of ${zone} at once whether it has expired, is on hold or was deleted, and renew or restore it.`,
  find: () => [],
  findUndelegated: ({ zone, parentZone }, wasDelegated) =>
    wasDelegated ? [{ about: '', params: { zone, parent: parentZone } }] : [],
})
