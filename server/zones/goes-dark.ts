import type { Zone } from '#contract/zones.ts'
import { toIso } from '../times.ts'
import { lastOfEachType } from './checks/signatures-expire.ts'
import { isAnswering, type ZoneFacts } from './facts.ts'
import { lagOf, type ZoneMemory } from './memory.ts'
import { registeredIn } from './registration-memory.ts'

type GoesDark = NonNullable<Zone['goes_dark']>
type Dated = Omit<GoesDark, 'at' | 'text'> & { at: number }

/** The first time after the look at which the registration ends, or a name server no longer gives answers that resolvers accept, if nobody acts. */
export function goesDark(facts: ZoneFacts, memory: ZoneMemory): GoesDark | null {
  const { at, ds, servers } = facts
  const dates = servers.filter(isAnswering).flatMap((server): Dated[] => {
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
  const expiresAt = registeredIn(facts.registration)?.expiresAt ?? null
  if (expiresAt !== null)
    dates.push({ at: expiresAt, reason: 'registration_expires', name_server: null, record_type: null })
  const [first] = dates.filter((date) => date.at > at).sort((one, other) => one.at - other.at)
  return first ? { ...first, at: toIso(first.at), text: textOf(first, facts) } : null
}

function textOf({ reason, name_server, record_type }: Dated, { registration, zone }: ZoneFacts): string {
  switch (reason) {
    case 'signature_expires':
      return `The signature of the ${record_type} records on ${name_server} expires, unless the zone is signed again.`
    case 'secondary_expires':
      return `${name_server} stops serving the zone, unless its zone transfer works again.`
    case 'registration_expires':
      return `The registration of ${registration?.domain ?? zone} ends, unless it is renewed.`
  }
}
