import { parseNsec, parseNsec3 } from './dnssec-records.ts'
import { bogus, type NotSecure, type Secure, unknown, unsigned } from './dnssec-verdict.ts'
import { provesNodata, provesNxdomain, provesWildcard } from './nsec.ts'
import { Nsec3Chain, type Nsec3Proof } from './nsec3.ts'
import { type SignedRrset, type SigningZone, verifyRrset } from './signatures.ts'
import { TYPE, typeName } from './wire-records.ts'

/** What is to be proven. `encloser`: of the wildcard that an answer is from. */
export type Denial =
  | { kind: 'nxdomain'; name: string; type: number }
  | { kind: 'nodata'; name: string; type: number }
  | { kind: 'wildcard'; name: string; type: number; encloser: string }

/** Proves a denial by the NSEC or NSEC3 records of the authority section. */
export function verifyDenial(
  denial: Denial,
  authority: readonly SignedRrset[],
  signing: SigningZone,
): Secure | NotSecure {
  const params = { name: denial.name, type: typeName(denial.type) }
  const records = authority.filter(({ type }) => type === TYPE.NSEC || type === TYPE.NSEC3)
  if (records.length === 0) {
    return bogus({ code: denial.kind === 'wildcard' ? 'bad_wildcard' : 'missing_denial', params })
  }
  const verified: SignedRrset[] = []
  let expiresAt = Number.POSITIVE_INFINITY
  let failure: NotSecure | undefined
  for (const rrset of records) {
    const result = verifyRrset(rrset, signing)
    if (result.kind === 'secure') {
      verified.push(rrset)
      expiresAt = Math.min(expiresAt, result.expiresAt)
    } else failure ??= result
  }
  const proof = prove(denial, verified, signing)
  switch (proof) {
    case 'proven':
      return { kind: 'secure', expiresAt }
    case 'opt_out':
    case 'nsec3_iterations':
      return unsigned(proof)
    case 'too_much_work':
      return unknown(proof)
    case 'not_proven':
      // A record without a valid signature may be the proof that is missing.
      return failure ?? bogus({ code: denial.kind === 'wildcard' ? 'bad_wildcard' : 'bad_denial', params })
  }
}

/** While a zone changes from NSEC to NSEC3, a response may have both: one proof is enough. */
function prove(
  denial: Denial,
  rrsets: readonly SignedRrset[],
  { zone, work }: SigningZone,
): Nsec3Proof | 'nsec3_iterations' {
  const recordsOf = (type: number) =>
    rrsets
      .filter((rrset) => rrset.type === type)
      .flatMap(({ name, rdata }) => rdata.map((each) => ({ name, type, rdata: each })))
  const nsecs = recordsOf(TYPE.NSEC).flatMap((record) => parseNsec(record) ?? [])
  if (provesByNsec(denial, nsecs, zone)) return 'proven'
  const nsec3s = recordsOf(TYPE.NSEC3).flatMap((record) => parseNsec3(record) ?? [])
  const chain = new Nsec3Chain(nsec3s, zone, work)
  return chain.hasTooManyIterations ? 'nsec3_iterations' : proveByNsec3(denial, chain)
}

function provesByNsec(denial: Denial, nsecs: Parameters<typeof provesNxdomain>[0], zone: string): boolean {
  switch (denial.kind) {
    case 'nxdomain':
      return provesNxdomain(nsecs, denial.name, zone)
    case 'nodata':
      return provesNodata(nsecs, denial.name, denial.type, zone)
    case 'wildcard':
      return provesWildcard(nsecs, denial.name, denial.encloser, zone)
  }
}

function proveByNsec3(denial: Denial, chain: Nsec3Chain): Nsec3Proof {
  switch (denial.kind) {
    case 'nxdomain':
      return chain.proveNxdomain(denial.name)
    case 'nodata':
      return chain.proveNodata(denial.name, denial.type)
    case 'wildcard':
      return chain.proveWildcard(denial.name, denial.encloser)
  }
}
