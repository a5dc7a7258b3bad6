import { Type } from 'typebox'
import { aboutServers, zoneCheck } from '../zone-check.ts'

export const nameServerRefuses = zoneCheck({
  code: 'name_server_refuses',
  level: 'error',
  about: 'A name server answers a query for the SOA record of the zone with an error, such as REFUSED or SERVFAIL.',
  params: { zone: Type.String(), name_server: Type.String(), rcode: Type.String() },
  text: ({ zone, name_server, rcode }) => `${name_server} answers ${rcode} for ${zone}.`,
  advice: ({ zone, name_server, rcode }) =>
    rcode === 'SERVFAIL'
      ? `Check the log of ${name_server}: it may have failed to load or transfer ${zone}, or its copy expired.`
      : `Set ${zone} up on ${name_server}, or remove it from the NS records and at the registrar.`,
  find: ({ zone, servers }) =>
    aboutServers(servers, ({ name, response }) => {
      if (response.kind === 'unknown' || response.kind === 'silent') return 'unknown'
      return response.kind === 'refuses' ? { zone, name_server: name, rcode: response.rcode } : undefined
    }),
})
