import { Type } from 'typebox'
import { toIso } from '../../times.ts'
import { lagOf } from '../memory.ts'
import { aboutAnswering, minute, zoneCheck } from '../zone-check.ts'

/** Of `expire` of the SOA record. */
const CLOSE = 3 / 4

export const secondaryExpires = zoneCheck({
  code: 'secondary_expires',
  level: 'error',
  about:
    'A name server has been behind for more than three quarters of the expiry of the SOA record. When it expires, the server stops answering for the zone. RFC 1035 section 3.3.13.',
  params: {
    name_server: Type.String(),
    since: Type.String({ format: 'date-time', description: 'The first look that saw it behind.' }),
    expires_at: Type.String({ format: 'date-time', description: 'At the latest.' }),
  },
  text: ({ name_server, since, expires_at }) =>
    `${name_server} has been behind since ${minute(since)}, and stops serving the zone by ${minute(expires_at)}.`,
  advice: ({ name_server }) => `Repair the zone transfer to ${name_server} before its copy expires.`,
  find: (zone) =>
    aboutAnswering(zone.servers, (server) => {
      const { since, behindForMs } = lagOf(zone, server)
      const expireMs = 1000 * server.response.soa.expire
      if (since === null || behindForMs <= CLOSE * expireMs) return undefined
      return { name_server: server.name, since: toIso(since), expires_at: toIso(since + expireMs) }
    }),
})
