import { createSocket } from 'node:dgram'
import type { DnsServer } from '#server/testing/dns-server.ts'
import { NAME } from './lab.ts'
import { encodeResponse, FORGED, MALFORMED_RESPONSES } from './raw-responses.ts'

/**
 * A fault of one server. `lie`: a well-formed wrong answer. `failure`: no usable answer. `harmless`: an unusual but correct
 * answer.
 */
export type Fault = { kind: 'lie' | 'failure' | 'harmless'; on(server: DnsServer): void }

export const FAULTS: Readonly<Record<string, Fault>> = {
  'another address': lie((server) => server.set(NAME, 'A', ['203.0.113.66'])),
  'one address more': lie((server) => server.set(NAME, 'A', ['192.0.2.1', '203.0.113.66'])),
  NXDOMAIN: lie((server) => server.remove(NAME, 'A')),
  NODATA: lie((server) => server.set(NAME, 'A', [])),
  'an empty answer without SOA': lie((server) =>
    server.respond(NAME, (query) => encodeResponse(query, flagsOf(server), [])),
  ),
  'a CNAME to another address': lie((server) => {
    server.remove(NAME, 'A')
    server.set(NAME, 'CNAME', ['evil.example.test'])
    server.set('evil.example.test', 'A', ['203.0.113.66'])
  }),
  'a CNAME loop': lie((server) => {
    server.remove(NAME, 'A')
    server.set(NAME, 'CNAME', ['loop.example.test'])
    server.set('loop.example.test', 'CNAME', [NAME])
    server.followCnames()
  }),
  SERVFAIL: failure((server) => server.fail('*', 'SERVFAIL')),
  REFUSED: failure((server) => server.fail('*', 'REFUSED')),
  NOTIMP: failure((server) => server.fail('*', 'NOTIMP')),
  FORMERR: failure((server) => server.fail('*', 'FORMERR')),
  'SERVFAIL with EDE': failure((server) => server.fail('*', 'SERVFAIL', { code: 22, text: 'no reachable authority' })),
  'no response': failure((server) => server.drop('*')),
  'a late answer': failure((server) => server.delay('*', 900)),
  ...Object.fromEntries(
    Object.entries(MALFORMED_RESPONSES).map(([name, raw]) => [
      name,
      failure((server) => server.respond(NAME, (query, transport) => raw(query, flagsOf(server), transport))),
    ]),
  ),
  'an answer from another port': failure((server) => {
    server.respond(NAME, (query) => {
      const socket = createSocket('udp4')
      const forged = encodeResponse(query, flagsOf(server), [FORGED])
      socket.send(forged, server.queries.log.at(-1)!.port, '127.0.0.1', () => socket.close())
      return null
    })
  }),
  'no EDNS': { kind: 'harmless', on: (server) => server.refuseEdns() },
  'truncation over UDP': { kind: 'harmless', on: (server) => server.truncate('*') },
  'a slow answer': { kind: 'harmless', on: (server) => server.delay('*', 40) },
}

export const faultsOf = (...kinds: Fault['kind'][]): [string, Fault][] =>
  Object.entries(FAULTS).filter(([, { kind }]) => kinds.includes(kind))

function lie(on: Fault['on']): Fault {
  return { kind: 'lie', on }
}

function failure(on: Fault['on']): Fault {
  return { kind: 'failure', on }
}

export function flagsOf({ isAuthoritative }: DnsServer): number {
  return isAuthoritative ? 0x8400 : 0x8180
}
