import { Type } from 'typebox'
import { isOlderSerial } from '../serial.ts'
import { aboutAnswering, zoneCheck } from '../zone-check.ts'

export const serialWentBack = zoneCheck({
  code: 'serial_went_back',
  level: 'error',
  about:
    'A name server has a lower serial than before, and another one has a newer one. Secondaries do not transfer a zone whose serial went back. RFC 1982 section 7.',
  params: { name_server: Type.String(), serial: Type.Integer(), previous: Type.Integer() },
  text: ({ name_server, serial, previous }) =>
    `The serial of ${name_server} went back from ${previous} to ${serial}, and other servers have a newer one.`,
  advice: ({ name_server, previous }) =>
    `If ${name_server} is the primary, set a serial above ${previous}, so that the secondaries transfer the zone. Else reload its copy.`,
  find: ({ servers, memory }) =>
    aboutAnswering(servers, ({ name, response: { soa } }) => {
      const known = memory.servers[name]
      if (!known || known.behindSince === null || !isOlderSerial(soa.serial, known.highest)) return undefined
      return { name_server: name, serial: soa.serial, previous: known.highest }
    }),
})
