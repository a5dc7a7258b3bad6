import { Type } from 'typebox'
import { listed } from '#contract/reason-wording.ts'
import { isAnswering } from '../facts.ts'
import { aboutZone, delegated, UNKNOWN, zoneCheck } from '../zone-check.ts'

export const noNameServerAnswers = zoneCheck({
  code: 'no_name_server_answers',
  level: 'critical',
  about: 'None of the delegated name servers answers for the zone: each is silent, lame, refuses or has no address.',
  params: { zone: Type.String(), name_servers: Type.Array(Type.String()) },
  text: ({ zone, name_servers }) => `No name server answers for ${zone}: not ${listed(name_servers)}.`,
  advice: ({ zone }) =>
    `Check with the provider of ${zone} whether the zone exists there and is paid for. If it moved, set the new name servers at the registrar.`,
  find: ({ zone, servers }) => {
    const asked = delegated(servers)
    if (asked.some(isAnswering)) return []
    if (asked.length === 0 || asked.some(({ response: { kind } }) => kind === 'unknown')) return UNKNOWN
    return aboutZone({ zone, name_servers: asked.map(({ name }) => name).sort() })
  },
})
