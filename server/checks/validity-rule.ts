import type { Validity } from '../dns/dnssec-validator.ts'
import { isSubdomain } from '../dns/names.ts'
import { isUsable, type Outcome } from '../dns/outcome.ts'
import { delegationKey } from '../dns/resolver/zone-view.ts'
import { type Check, inconclusive, isMajorityDue, type Query, type Step, sendQueries, verdict } from './check-state.ts'
import { CONFIRMATIONS } from './reasons.ts'

/** Whether the answers of the zone's own name servers can be validated here. */
export function canValidate({ capabilities, recorded }: Check): boolean {
  if (!capabilities.hasValidator || !capabilities.hasAuthoritativeClient) return false
  return recorded.resolution !== 'resolvers' && recorded.hasOwnView !== true
}

/**
 * The queries that validate the answers of the zone's name servers, then the verdict if all of them are bogus. Undefined if some are
 * not, if the zone is not signed, or if nothing answers that could be validated.
 */
export function validateServers(check: Check): Step | undefined {
  if (!canValidate(check) || check.zone.view?.isDenied) return undefined
  const answering = check.zone.replies.filter(({ outcome }) => isUsable(outcome))
  const known = validities(check)
  // The DS records are those of the zone: if one answer cannot be bogus, or cannot be judged, none can.
  const isForAll = ({ kind }: Validity) => kind === 'unsigned' || kind === 'indeterminate' || kind === 'bogus_above'
  if (answering.length === 0 || [...known.values()].some(isForAll)) return undefined
  const missing = answering.filter(({ server }) => !known.has(server))
  if (missing.length > 0) {
    const queried = known.size === 0 ? missing.slice(0, 1) : missing
    return sendQueries(...queried.map(({ server }): Query => ({ purpose: 'validity', server })))
  }
  const found = [...known.values()]
  if (found.some(({ kind }) => kind === 'secure')) return undefined
  const { bogus } = check.zone
  const isCertain = found.every(({ kind }) => kind === 'bogus') || (bogus.length > 0 && isMajorityDue(check))
  if (isCertain && (isMajorityDue(check) || !isDelegationChanging(check))) {
    const names = [...new Set(bogus.flatMap(({ nameServer }) => nameServer ?? []))].sort()
    return verdict(check, outcomeOf(found), CONFIRMATIONS.serversFailValidation(names), names)
  }
  return isMajorityDue(check) ? undefined : inconclusive(check, CONFIRMATIONS.validationUnconfirmed)
}

/** Whether the servers of the parent zone give different delegations. */
export function isDelegationChanging({ zone: { view } }: Check): boolean {
  return new Set(view?.parents.map(({ nameServers }) => delegationKey(nameServers))).size > 1
}

/** The longest CNAME chain whose zones are validated. */
const MAX_TARGETS = 4

/**
 * Whether an answer of the zone's name servers passed validation, or needs none, and so did each part of it that belongs to another
 * zone, after a CNAME record. Otherwise the next queries.
 */
export function isValidated(check: Check): Step | boolean {
  if (![...validities(check).values()].some(isAccepted)) return false
  const targets = targetsOutside(check)
  if (targets.length > MAX_TARGETS) return false
  const known = new Map(
    check.observations.flatMap((one) =>
      'validity' in one && one.query.purpose === 'target_validity' ? [[one.query.name, one.validity]] : [],
    ),
  )
  const missing = targets.filter((name) => !known.has(name))
  if (missing.length > 0) return sendQueries(...missing.map((name): Query => ({ purpose: 'target_validity', name })))
  return [...known.values()].every(isAccepted)
}

/** Whether the signatures of a zone above fail. Then a resolver that validates refuses everything below it, signed or not. */
export function isBogusAbove({ observations }: Check): boolean {
  return observations.some((one) => 'validity' in one && one.validity.kind === 'bogus_above')
}

const isAccepted = ({ kind }: Validity) => kind === 'secure' || kind === 'unsigned'

/** The targets of CNAME records in other zones. The validation of the answer does not include their records. */
function targetsOutside({ zone: { view, replies } }: Check): string[] {
  const targets = replies
    .flatMap(({ outcome }) => ('chain' in outcome ? outcome.chain : []))
    .map(({ target }) => target)
  return [...new Set(targets)].filter((target) => view !== undefined && !isSubdomain(target, view.zone))
}

/** By the number of the server. */
function validities({ observations }: Check): Map<number, Validity> {
  return new Map(
    observations.flatMap((one) =>
      'validity' in one && one.query.purpose === 'validity' ? [[one.query.server, one.validity]] : [],
    ),
  )
}

/** As a resolver that validates reports it. */
function outcomeOf(validities: readonly Validity[]): Outcome {
  const ede = validities.flatMap((validity) => (validity.kind === 'bogus' ? [validity.ede] : []))
  return { kind: 'failure', rcode: 'SERVFAIL', ede: ede[0] ?? [], bogus: true }
}
