import { Type } from 'typebox'
import { aboutServers, zoneCheck } from '../zone-check.ts'

export const nameServerLame = zoneCheck({
  code: 'name_server_lame',
  level: 'error',
  about: 'A name server answers without authority for the zone, or without its SOA record. RFC 9499 section 7.',
  params: { zone: Type.String(), name_server: Type.String() },
  text: ({ zone, name_server }) => `${name_server} does not serve ${zone} (lame delegation).`,
  advice: ({ zone, name_server }) =>
    `Set ${zone} up on ${name_server}, or remove it from the NS records and at the registrar.`,
  find: ({ zone, servers }) =>
    aboutServers(servers, ({ name, response: { kind } }) => {
      if (kind === 'unknown' || kind === 'silent') return 'unknown'
      return kind === 'lame' ? { zone, name_server: name } : undefined
    }),
})
