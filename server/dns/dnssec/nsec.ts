import { isSubdomain } from '../names.ts'
import type { Nsec } from './dnssec-records.ts'
import { commonAncestor, compareNames, isBelow, wildcardOf } from './name-order.ts'
import { isCut, lacksType, TYPE } from './wire-records.ts'

// The NSEC records given to these functions have valid signatures of the zone. RFC 4035 section 5.4, RFC 6840 section 4.

/** Whether they prove that the name does not exist, and that no wildcard applies to it. */
export function provesNxdomain(nsecs: readonly Nsec[], name: string, zone: string): boolean {
  return nsecs.some((nsec) => {
    if (!deniesName(nsec, name, zone)) return false
    const wildcard = wildcardOf(closestEncloser(nsec, name))
    return nsecs.some((other) => deniesName(other, wildcard, zone))
  })
}

/** Whether they prove that the name, or the wildcard that applies to it, exists without records of the type. */
export function provesNodata(nsecs: readonly Nsec[], name: string, type: number, zone: string): boolean {
  if (nsecs.some(({ owner, types }) => owner === name && lacksType(types, type))) return true
  return nsecs.some((nsec) => {
    if (isEmptyNonTerminal(nsec, name)) return true
    if (!deniesName(nsec, name, zone)) return false
    const wildcard = wildcardOf(closestEncloser(nsec, name))
    return nsecs.some(({ owner, types }) => owner === wildcard && lacksType(types, type))
  })
}

/** Whether they prove that the name itself does not exist, so that the wildcard below `encloser` applies. RFC 4035 section 5.3.4. */
export function provesWildcard(nsecs: readonly Nsec[], name: string, encloser: string, zone: string): boolean {
  return nsecs.some((nsec) => deniesName(nsec, name, zone) && closestEncloser(nsec, name) === encloser)
}

function deniesName(nsec: Nsec, name: string, zone: string): boolean {
  const { owner, next, types } = nsec
  // Names below a cut or a DNAME record are not in the zone. RFC 6840 section 4.1.
  if (isBelow(name, owner) && (isCut(types) || types.has(TYPE.DNAME))) return false
  if (!isSubdomain(next, zone) || !isSubdomain(owner, zone) || isEmptyNonTerminal(nsec, name)) return false
  if (compareNames(owner, name) >= 0) return false
  // The last NSEC record of a zone leads back to its apex.
  return compareNames(name, next) < 0 || next === zone
}

/** The name has no records, but there are names below it. RFC 4035 section 5.4 with RFC 4592 section 2.2.2. */
function isEmptyNonTerminal({ owner, next, types }: Nsec, name: string): boolean {
  if (isBelow(name, owner) && (isCut(types) || types.has(TYPE.DNAME))) return false
  return isBelow(next, name) && compareNames(owner, name) < 0
}

/** Of a name that does not exist, from the names around it. */
function closestEncloser({ owner, next }: Nsec, name: string): string {
  const one = commonAncestor(name, owner)
  const other = commonAncestor(name, next)
  return one.length > other.length ? one : other
}
