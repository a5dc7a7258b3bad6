import { Type } from 'typebox'
import { type AnsweringServer, isAnswering } from '../facts.ts'
import { peersOf } from '../memory.ts'
import { aboutAnswering, zoneCheck } from '../zone-check.ts'

export const sameSerialDiffers = zoneCheck({
  code: 'same_serial_differs',
  level: 'error',
  about:
    'Two name servers with the same primary have the same serial, and different SOA or NS records: a copy was changed, or a serial was used twice.',
  params: {
    name_server: Type.String(),
    other: Type.String({ description: 'The name server from which it differs.' }),
    serial: Type.Integer(),
    record_type: Type.Enum(['SOA', 'NS'], { type: 'string' }),
  },
  text: ({ name_server, other, serial, record_type }) =>
    `${name_server} and ${other} both have serial ${serial}, but different ${record_type} records.`,
  advice: ({ name_server }) =>
    `Increase the serial at the primary and transfer the zone to all servers. Check whether somebody changed the copy of ${name_server}.`,
  find: ({ servers }) => {
    const answering = servers.filter(isAnswering)
    return aboutAnswering(servers, (server) => {
      const { serial } = server.response.soa
      const peers = peersOf(server, answering).filter(({ response: { soa } }) => soa.serial === serial)
      // One finding for each that differs from the first.
      const [first] = peers
      const differs = first && first !== server ? differingType(first, server) : undefined
      return differs && { name_server: server.name, other: first!.name, serial, record_type: differs }
    })
  },
})

function differingType({ response: one }: AnsweringServer, { response: other }: AnsweringServer) {
  if (JSON.stringify(one.soa) !== JSON.stringify(other.soa)) return 'SOA' as const
  const [names, others] = [one.nameServers, other.nameServers]
  return names && others && names.join() !== others.join() ? ('NS' as const) : undefined
}
