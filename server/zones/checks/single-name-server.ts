import { Type } from 'typebox'
import { aboutZone, zoneCheck } from '../zone-check.ts'

export const singleNameServer = zoneCheck({
  code: 'single_name_server',
  level: 'warning',
  about: 'The zone is delegated to only one name server. RFC 2182 section 5.',
  params: { zone: Type.String(), name_server: Type.String() },
  text: ({ zone, name_server }) => `${zone} has only one name server, ${name_server}.`,
  advice: ({ zone }) => `Add a second name server for ${zone} in another network.`,
  find: ({ zone, facts: { delegation } }) => {
    const [only, second] = delegation.nameServers
    return aboutZone(only !== undefined && second === undefined ? { zone, name_server: only } : undefined)
  },
})
