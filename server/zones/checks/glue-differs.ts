import { Type } from 'typebox'
import { listed } from '#contract/reason-wording.ts'
import { aboutServers, delegated, zoneCheck } from '../zone-check.ts'

export const glueDiffers = zoneCheck({
  code: 'glue_differs',
  level: 'warning',
  about: 'The parent zone gives an address for a name server of the zone that the zone itself does not. RFC 9471.',
  params: {
    name_server: Type.String(),
    parent: Type.Array(Type.String(), { description: 'Only in the delegation.' }),
    zone: Type.Array(Type.String(), { description: 'All addresses in the zone.' }),
  },
  text: ({ name_server, parent, zone }) =>
    `The parent zone gives ${listed(parent)} for ${name_server}, but its address in the zone is ${zone.length === 0 ? 'missing' : listed(zone)}.`,
  advice: ({ name_server }) =>
    `Update the address of ${name_server} at the registrar (host object or glue record), or in the zone.`,
  find: ({ servers }) =>
    aboutServers(delegated(servers), ({ name, glue, response }) => {
      if (!glue) return response.kind === 'answers' ? undefined : 'unknown'
      const stale = glue.delegation.filter((ip) => !glue.zone.includes(ip))
      return stale.length > 0 ? { name_server: name, parent: stale, zone: glue.zone } : undefined
    }),
})
