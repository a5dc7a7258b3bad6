import { Type } from 'typebox'
import { listed } from '#contract/reason-wording.ts'
import { aboutServers, zoneCheck } from '../zone-check.ts'

export const nameServerSilent = zoneCheck({
  code: 'name_server_silent',
  level: 'error',
  about: 'A name server does not respond over UDP, at two addresses if it has them, with two queries to each.',
  params: { name_server: Type.String(), addresses: Type.Array(Type.String()) },
  text: ({ name_server, addresses }) => `${name_server} (${listed(addresses)}) does not respond.`,
  advice: ({ name_server }) =>
    `Check that ${name_server} runs and that its firewall allows queries over UDP and TCP to port 53 from everywhere.`,
  find: ({ servers }) =>
    aboutServers(servers, ({ name, ips, response: { kind } }) => {
      if (kind === 'unknown') return 'unknown'
      return kind === 'silent' ? { name_server: name, addresses: ips ?? [] } : undefined
    }),
})
