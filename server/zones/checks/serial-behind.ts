import { Type } from 'typebox'
import { toIso } from '../../times.ts'
import { lagOf } from '../memory.ts'
import { aboutAnswering, minute, zoneCheck } from '../zone-check.ts'

export const serialBehind = zoneCheck({
  code: 'serial_behind',
  level: 'warning',
  about:
    'A name server has had the same serial for longer than refresh + retry of the SOA record, while another one has a newer serial. RFC 1982. Servers with different primaries (MNAME and RNAME) are not compared.',
  params: {
    name_server: Type.String(),
    serial: Type.Integer(),
    newest: Type.Integer(),
    since: Type.String({ format: 'date-time', description: 'The first look that saw it behind.' }),
  },
  text: ({ name_server, serial, newest, since }) =>
    `${name_server} has served serial ${serial} since ${minute(since)}, although another server has ${newest}.`,
  advice: ({ name_server }) =>
    `Check the zone transfer to ${name_server}: NOTIFY, allowed addresses, TSIG key, and its log.`,
  find: (zone) =>
    aboutAnswering(zone.servers, (server) => {
      const { behindForMs, since, newest } = lagOf(zone, server)
      const { serial, refresh, retry } = server.response.soa
      if (since === null || newest === undefined || behindForMs <= 1000 * (refresh + retry)) return undefined
      return { name_server: server.name, serial, newest, since: toIso(since) }
    }),
})
