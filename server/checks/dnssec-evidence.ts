import type { Warning } from '#contract/warnings.ts'
import type { ServerVerdict } from '../dns/dnssec/server-validator.ts'
import type { ValidationCall } from '../dns/dnssec-validator.ts'
import type { Question } from '../dns/outcome.ts'
import type { ZoneView } from '../dns/resolver/zone-view.ts'
import { truncate } from '../text.ts'
import type { CheckSoFar, Step } from './check-state.ts'
import type { CheckDeps } from './run-check.ts'

/** Their queries are within the budget of the check. */
const MAX_SERVERS = 8
/** Of the zones in a CNAME chain. */
const MAX_ZONES = 3
const MAX_TARGETS = 4
const MAX_CHARACTERS = 200

/** Whether a check ends with DNSSEC validation that fails, or seems to. */
export function isAboutDnssec(step: Step): boolean {
  if (step.kind === 'verdict') return step.outcome.kind === 'failure' && step.outcome.bogus === true
  return step.kind === 'inconclusive' && step.confirmation.some(({ code }) => code === 'validation_unconfirmed')
}

/**
 * What a validator makes of the answer of each delegated server, so that the diagnosis says why validation fails, and where. It is
 * evidence beside the verdict: resolvers may still have older data.
 */
export async function findDnssecEvidence(
  check: CheckSoFar,
  { authoritativeClient, serverValidator }: CheckDeps,
  call: ValidationCall,
): Promise<Warning[]> {
  const { owner, recordType, resolution } = check.recorded
  if (!authoritativeClient || !serverValidator || resolution === 'resolvers' || check.recorded.hasOwnView) return []
  const zones = new Map<string, { view: ZoneView; name: string }>()
  for (const name of [owner, ...chainTargets(check)]) {
    const view = await authoritativeClient.zoneView(
      { name, type: recordType.queryType },
      { fresh: true, signal: call.signal },
    )
    if (view && !view.isUnknown && !view.isDenied && !zones.has(view.zone)) zones.set(view.zone, { view, name })
    if (zones.size === MAX_ZONES) break
  }
  const warnings = await Promise.all(
    [...zones.values()].map(async ({ view, name }) => {
      const question: Question = { name, type: recordType.queryType }
      const servers = view.nameServers.slice(0, MAX_SERVERS)
      const verdicts = await Promise.all(
        servers.map((_, number) => serverValidator.validate(question, view, number, call)),
      )
      return toWarnings(
        verdicts,
        servers.map((server) => server.name),
      )
    }),
  )
  return warnings.flat()
}

/** Of the answer that the resolver gave with validation disabled. */
function chainTargets({ observations }: CheckSoFar): string[] {
  const unvalidated = observations.find(({ query }) => query.purpose === 'checking_disabled')
  if (!unvalidated || !('reply' in unvalidated) || !('chain' in unvalidated.reply.outcome)) return []
  return unvalidated.reply.outcome.chain.slice(0, MAX_TARGETS).map(({ target }) => target)
}

/** One warning for each cause, with the servers that have it. */
function toWarnings(verdicts: readonly ServerVerdict[], names: readonly string[]): Warning[] {
  const servers = verdicts.map((verdict, index) => ({ verdict, name: truncate(names[index]!, MAX_CHARACTERS) }))
  const groups = Map.groupBy(servers, ({ verdict }) => JSON.stringify({ ...verdict, expiresAt: undefined }))
  return [...groups.values()].map((group) => {
    const expiresAt = Math.min(...group.map(({ verdict }) => (verdict.kind === 'secure' ? verdict.expiresAt : NEVER)))
    const [{ verdict }] = group as [(typeof group)[0]]
    // What a zone above does is the same for all servers.
    const above = verdict.above && truncate(verdict.above.nameServer, MAX_CHARACTERS)
    const names = above === undefined ? group.map(({ name }) => name) : [above]
    return toWarning(verdict, names, expiresAt)
  })
}

function toWarning(verdict: ServerVerdict, names: string[], expiresAt: number): Warning {
  switch (verdict.kind) {
    case 'bogus':
      return { code: 'dnssec_bogus', params: { name_servers: names, cause: verdict.cause } }
    case 'secure':
      return { code: 'dnssec_secure', params: { name_servers: names, expires_at: new Date(expiresAt).toISOString() } }
    case 'unsigned':
      return { code: 'dnssec_unsigned', params: { name_servers: names, reason: verdict.reason } }
    case 'unknown':
      return { code: 'dnssec_unknown', params: { name_servers: names, reason: verdict.reason } }
  }
}

const NEVER = Number.POSITIVE_INFINITY
