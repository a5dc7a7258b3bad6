import type { Zone } from '#contract/zones.ts'
import { toIso } from '../times.ts'
import { lastOfEachType } from './checks/signatures-expire.ts'
import { isAnswering, type ZoneFacts } from './facts.ts'
import { lagOf, type ZoneMemory } from './memory.ts'

type GoesDark = NonNullable<Zone['goes_dark']>

/** The first time after the look at which a name server no longer gives answers that resolvers accept, if nobody acts. */
export function goesDark(facts: ZoneFacts, memory: ZoneMemory): GoesDark | null {
  const { at, ds, servers } = facts
  const dates = servers.filter(isAnswering).flatMap((server): (Omit<GoesDark, 'at' | 'text'> & { at: number })[] => {
    const { signatures, soa } = server.response
    const name_server = server.name
    const { since } = lagOf({ facts, servers, memory }, server)
    return [
      // Without DS records nobody validates the signatures.
      ...(ds?.length ? lastOfEachType(signatures) : []).map(({ type, expiration }) => ({
        ...{ at: expiration, reason: 'signature_expires' as const, name_server, record_type: type },
      })),
      ...(since === null
        ? []
        : [{ at: since + 1000 * soa.expire, reason: 'secondary_expires' as const, name_server, record_type: null }]),
    ]
  })
  const [first] = dates.filter((date) => date.at > at).sort((one, other) => one.at - other.at)
  return first ? { ...first, at: toIso(first.at), text: textOf(first) } : null
}

const textOf = ({ reason, name_server, record_type }: Omit<GoesDark, 'at' | 'text'>): string =>
  reason === 'signature_expires'
    ? `The signature of the ${record_type} records on ${name_server} expires, unless the zone is signed again.`
    : `${name_server} stops serving the zone, unless its zone transfer works again.`
