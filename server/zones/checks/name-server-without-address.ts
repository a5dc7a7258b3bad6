import { Type } from 'typebox'
import { aboutServers, zoneCheck } from '../zone-check.ts'

export const nameServerWithoutAddress = zoneCheck({
  code: 'name_server_without_address',
  level: 'error',
  about: 'A name server has neither A nor AAAA records, or only addresses that are not public.',
  params: { name_server: Type.String() },
  text: ({ name_server }) => `${name_server} has no public address.`,
  advice: ({ name_server }) =>
    `Create A or AAAA records for ${name_server}, with glue at the registrar if it is inside the zone, or remove it from the name servers.`,
  find: ({ servers }) =>
    aboutServers(servers, ({ name, response: { kind } }) => {
      if (kind === 'unknown') return 'unknown'
      return kind === 'no_address' ? { name_server: name } : undefined
    }),
})
