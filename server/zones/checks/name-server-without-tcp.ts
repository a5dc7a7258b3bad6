import { Type } from 'typebox'
import { aboutAnswering, zoneCheck } from '../zone-check.ts'

export const nameServerWithoutTcp = zoneCheck({
  code: 'name_server_without_tcp',
  level: 'warning',
  about: 'A name server answers over UDP, and not over TCP. Large answers do not arrive. RFC 7766 section 5.',
  params: { name_server: Type.String() },
  text: ({ name_server }) => `${name_server} does not answer over TCP.`,
  advice: ({ name_server }) => `Allow TCP to port 53 in the firewall of ${name_server}.`,
  find: ({ servers }) =>
    aboutAnswering(servers, ({ name, response: { tcp } }) => {
      if (tcp === null) return 'unknown'
      return tcp ? undefined : { name_server: name }
    }),
})
