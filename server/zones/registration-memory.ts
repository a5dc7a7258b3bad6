import type { Registered, Registration } from '../registrations/facts.ts'
import type { ZoneFacts } from './facts.ts'

/** What later looks must know of earlier registrations. Instants are UTC epoch milliseconds. */
export type RegistrationMemory = {
  registrar: string | null
  registrarId: string | null
  isLocked: boolean
  unlockedAt: number | null
  changed: { from: string; at: number } | null
  /** Since when the registry has other name servers, or other DS records, than the delegation. */
  nameServersDifferSince: number | null
  dsDifferSince: number | null
}

/** How long a new registrar, or a lock that was removed, counts. */
export const CHANGE_COUNTS_MS = 14 * 86_400_000

const LOCKS = ['client transfer prohibited', 'server transfer prohibited']
const isLocked = ({ statuses }: Registered) => statuses.some((status) => LOCKS.includes(status))

/** The registration, if the registry has it. */
export const registeredIn = (registration: Registration | null): Registered | undefined =>
  registration?.facts?.state === 'registered' ? registration.facts : undefined

/** The memory after a look. Without a registration, what was known stays. Pure. */
export function nextRegistration(before: RegistrationMemory | undefined, facts: ZoneFacts) {
  const { registration, at } = facts
  const now = registeredIn(registration)
  if (!now) return before
  const isOther = before !== undefined && isOtherRegistrar(before, now)
  const changed = isOther && before.registrar !== null ? { from: before.registrar, at } : (before?.changed ?? null)
  const unlockedAt = isLocked(now) ? null : before?.isLocked ? at : (before?.unlockedAt ?? null)
  const next: RegistrationMemory = {
    registrar: now.registrar ?? before?.registrar ?? null,
    registrarId: now.registrar === null ? (before?.registrarId ?? null) : now.registrarId,
    isLocked: isLocked(now),
    unlockedAt: unlockedAt !== null && at - unlockedAt < CHANGE_COUNTS_MS ? unlockedAt : null,
    changed: changed !== null && at - changed.at < CHANGE_COUNTS_MS ? changed : null,
    nameServersDifferSince: since(before?.nameServersDifferSince, differs(...nameServersOf(facts, now)), at),
    dsDifferSince: since(before?.dsDifferSince, differs(...dsOf(facts, now)), at),
  }
  return next
}

/** By its number at IANA, because names are written in many ways. */
function isOtherRegistrar(before: RegistrationMemory, { registrar, registrarId }: Registered): boolean {
  if (before.registrar === null || registrar === null) return false
  if (before.registrarId !== null && registrarId !== null) return before.registrarId !== registrarId
  const letters = (name: string) => name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  return letters(before.registrar) !== letters(registrar)
}

type Lists<T> = [registry: readonly T[] | null, delegation: readonly T[] | null]

/** Null if unknown. A zone below the registered domain has a delegation of its own. */
export const nameServersOf = (
  { zone, registration, delegation }: ZoneFacts,
  { nameServers }: Registered,
): Lists<string> => (registration?.domain === zone ? [nameServers, delegation?.nameServers ?? null] : [null, null])

export const dsOf = ({ zone, registration, ds }: ZoneFacts, { dsKeyTags }: Registered): Lists<number> => [
  registration?.domain === zone ? dsKeyTags : null,
  ds === null ? null : [...new Set(ds.map(({ keyTag }) => keyTag))].sort((one, other) => one - other),
]

/** Null if unknown. */
function differs<T>(registry: readonly T[] | null, delegation: readonly T[] | null): boolean | null {
  if (registry === null || delegation === null) return null
  return JSON.stringify(registry) !== JSON.stringify(delegation)
}

const since = (before: number | null | undefined, isSo: boolean | null, at: number): number | null =>
  isSo === null ? (before ?? null) : isSo ? (before ?? at) : null
