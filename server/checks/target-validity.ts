import type { DnssecValidator, ValidationCall, Validity } from '../dns/dnssec-validator.ts'
import type { Question } from '../dns/outcome.ts'
import type { AuthoritativeClient } from '../dns/resolver/authoritative-client.ts'

/** So many servers of the zone of a CNAME target are asked. */
const MAX_TARGET_SERVERS = 3

/** What a validator accepts from any server of the zone: if one answer is bogus, it queries the next one. */
export async function validateAnyServer(
  client: AuthoritativeClient,
  validator: DnssecValidator,
  question: Question,
  call: ValidationCall,
): Promise<Validity> {
  const view = await client.zoneView(question, { fresh: true, signal: call.signal })
  let found: Validity = { kind: 'unknown' }
  if (!view || view.isUnknown || view.isDenied) return found
  for (let server = 0; server < Math.min(view.nameServers.length, MAX_TARGET_SERVERS); server++) {
    found = await validator.validate(question, view, server, call)
    if (found.kind !== 'bogus' && found.kind !== 'unknown') break
  }
  return found
}
