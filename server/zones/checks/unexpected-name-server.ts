import { Type } from 'typebox'
import { zoneCheck } from '../zone-check.ts'

export const unexpectedNameServer = zoneCheck({
  code: 'unexpected_name_server',
  level: 'critical',
  about:
    'The parent zone delegates to a name server that is not in `expected_name_servers`. Its operator controls the zone.',
  params: { zone: Type.String(), name_server: Type.String() },
  text: ({ zone, name_server }) => `The parent zone delegates ${zone} to ${name_server}, which is not expected.`,
  advice: ({ zone, name_server }) =>
    `If you moved ${zone} to ${name_server}, confirm the new name servers. If nobody did, lock the account at the registrar and restore the delegation at once.`,
  find: ({ zone, facts: { delegation }, expected }) =>
    delegation.nameServers
      .filter((name) => !expected.includes(name))
      .map((name) => ({ about: name, params: { zone, name_server: name } })),
})
