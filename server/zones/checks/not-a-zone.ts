import { Type } from 'typebox'
import { zoneCheck } from '../zone-check.ts'

export const notAZone = zoneCheck({
  code: 'not_a_zone',
  level: 'error',
  about: 'No look has ever seen a delegation of the name: it is not registered, or it is a name inside another zone.',
  params: { zone: Type.String(), parent: Type.String({ description: 'The zone in which the name is.' }) },
  text: ({ zone, parent }) => `The servers of ${parent || 'the root zone'} do not delegate ${zone}.`,
  advice: ({ zone, parent }) =>
    parent.includes('.')
      ? `Delete ${zone} here and add ${parent}, or check the name.`
      : `Check the name, and at the registrar whether ${zone} is registered and has name servers.`,
  find: () => [],
  findUndelegated: ({ zone, parentZone }, wasDelegated) =>
    wasDelegated ? [] : [{ about: '', params: { zone, parent: parentZone } }],
})
