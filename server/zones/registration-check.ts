import type { TProperties } from 'typebox'
import type { Registered } from '../registrations/facts.ts'
import { DAY_MS, HOUR_MS } from '../times.ts'
import type { ZoneFacts } from './facts.ts'
import type { ZoneMemory } from './memory.ts'
import { type RegistrationMemory, registeredIn } from './registration-memory.ts'
import { aboutZone, type Found, UNKNOWN, type Unknown, type ZoneCheck, zoneCheck } from './zone-check.ts'

/** Look-ups happen once a day. What is older says nothing new. */
const STALE_MS = 3 * DAY_MS
/** A registry publishes a change within this time. */
const PUBLISHED_MS = HOUR_MS

/** What a check sees of a registration. `at`: of the look. */
export type RegistrationNow = Registered & { domain: string; at: number; lookedUpAt: number; facts: ZoneFacts }

type Results<P> = readonly (Found<P> | Unknown)[]
type Texts<P extends TProperties> = Omit<ZoneCheck<P>, 'find' | 'findUndelegated'>
type Params<P extends TProperties> = Parameters<ZoneCheck<P>['text']>[0]

/** A check of what the registry says now, also of a zone that is not delegated. `find` is pure. */
export function registrationCheck<P extends TProperties>(
  texts: Texts<P> & { find(registration: RegistrationNow): Params<P> | undefined },
): ZoneCheck {
  const findIn = (facts: ZoneFacts): Results<Params<P>> => {
    const now = registrationNow(facts)
    return now ? aboutZone(texts.find(now) as (Params<P> & object) | undefined) : UNKNOWN
  }
  return zoneCheck<P>({ ...texts, find: ({ facts }) => findIn(facts), findUndelegated: findIn })
}

/** A check of what has changed. */
export function registrationChangeCheck<P extends TProperties>(
  texts: Texts<P> & { find(registration: RegistrationNow, memory: RegistrationMemory): Params<P> | undefined },
): ZoneCheck {
  return zoneCheck<P>({
    ...texts,
    find: ({ facts, memory }) => {
      const now = registrationNow(facts)
      if (!now || !memory.registration) return UNKNOWN
      return aboutZone(texts.find(now, memory.registration) as (Params<P> & object) | undefined)
    },
  })
}

/** A check of what the registry has other than the delegation. It counts only if a look-up saw it after the delegation could be known. */
export function registryDiffersCheck<P extends TProperties>(
  texts: Texts<P> & {
    since(memory: RegistrationMemory): number | null
    found(registration: RegistrationNow): Params<P>
  },
): ZoneCheck {
  return zoneCheck<P>({
    ...texts,
    find: ({ facts, memory }: { facts: ZoneFacts; memory: ZoneMemory }): Results<Params<P>> => {
      const now = registrationNow(facts)
      if (!now || !memory.registration) return UNKNOWN
      const since = texts.since(memory.registration)
      if (since === null) return []
      return now.lookedUpAt - since < PUBLISHED_MS ? UNKNOWN : aboutZone(texts.found(now) as Params<P> & object)
    },
  })
}

function registrationNow(facts: ZoneFacts): RegistrationNow | undefined {
  const { registration, at } = facts
  const registered = registeredIn(registration)
  const lookedUpAt = registration?.lookedUpAt ?? null
  if (!registration || !registered || lookedUpAt === null || at - lookedUpAt > STALE_MS) return undefined
  return { ...registered, domain: registration.domain, at, lookedUpAt, facts }
}
