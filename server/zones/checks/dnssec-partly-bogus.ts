import { Type } from 'typebox'
import { DnssecCause, dnssecFindingText } from '#contract/dnssec.ts'
import { aboutAnswering, zoneCheck } from '../zone-check.ts'
import { validated } from './dnssec-bogus.ts'

export const dnssecPartlyBogus = zoneCheck({
  code: 'dnssec_partly_bogus',
  level: 'error',
  about: 'The answer of one name server fails DNSSEC validation, and that of another one does not.',
  params: { name_servers: Type.Array(Type.String()), cause: DnssecCause },
  text: (params) => `Some answers fail DNSSEC validation: ${dnssecFindingText(params)}`,
  advice: ({ name_servers }) =>
    `Transfer the signed zone to ${name_servers.join(' and ')} again, and check its date and time.`,
  find: ({ servers }) => {
    const others = validated(servers)?.others ?? 0
    return aboutAnswering(servers, ({ name, response: { verdict } }) => {
      if (!verdict || verdict.kind === 'unknown') return 'unknown'
      return verdict.kind === 'bogus' && others > 0 ? { name_servers: [name], cause: verdict.cause } : undefined
    })
  },
})
