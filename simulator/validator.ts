import type { DnssecValidator, Validity } from '#server/dns/dnssec-validator.ts'
import type { VirtualClock } from './clock.ts'
import { isWithin, type Question, type RecordType, type Response } from './dns/message.ts'
import { checkSignature } from './dns/validation.ts'
import { type Validated, validate } from './dns/validator.ts'
import type { Network } from './network.ts'
import { PARENT, PARENT_KEY, type World, ZONE } from './world/world.ts'

const TIMEOUT_MS = 1_000
const ATTEMPTS = 3
const SHARED_MS = 5_000

/** What the product's validator would find, without cryptography: it queries the same servers, and its packets get lost too. */
export function createValidator(
  world: World,
  network: Network,
  clock: VirtualClock,
  parentIps: readonly string[],
): DnssecValidator {
  async function ask(ip: string, question: Question, signal: AbortSignal): Promise<Response | undefined> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const received = network.receive(ip, question, false, TIMEOUT_MS)
      const waiting = received ? clock.pass(received.ms) : clock.sleep(TIMEOUT_MS, signal)
      if (waiting) await waiting
      signal.throwIfAborted()
      if (received) return received.response
    }
    return undefined
  }

  let shared: { at: number; responses: Promise<(Response | undefined)[]> } | undefined

  /** The name servers of one check share the DS records. */
  function askParents(signal: AbortSignal): Promise<(Response | undefined)[]> {
    const at = clock.elapsed()
    if (shared && at - shared.at <= SHARED_MS) return shared.responses
    const responses = Promise.all(parentIps.map((parent) => ask(parent, { name: ZONE, type: 'DS' }, signal)))
    shared = { at, responses }
    return responses
  }

  /** Whether what each server of the signed parent zone says has expired. */
  async function isParentBogus(signal: AbortSignal): Promise<boolean> {
    const question = { name: PARENT, type: 'DNSKEY' as const }
    const keys = await Promise.all(parentIps.map((parent) => ask(parent, question, signal)))
    const answers = keys.flatMap((one) => one?.answer[0] ?? [])
    return answers.every((rrset) => checkSignature(rrset, [PARENT_KEY], clock.elapsed()) !== undefined)
  }

  return {
    async validate({ name, type }, view, server, { signal }) {
      if (world.parentExpiry && isWithin(view.zone, PARENT) && (await isParentBogus(signal))) {
        return { kind: 'bogus_above', ede: [{ code: 7, text: '' }] }
      }
      // No other zone of a world has DS records.
      if (view.zone !== ZONE) return { kind: 'unsigned' }
      const ip = view.nameServers[server]?.ips?.[0]
      const parents = await askParents(signal)
      if (ip === undefined || parents.some((one) => one?.answer.length === 0))
        return toValidity(validate(ZONE, parents, undefined, undefined, clock.elapsed()))
      const [keys, own] = await Promise.all([
        ask(ip, { name: ZONE, type: 'DNSKEY' }, signal),
        ask(ip, { name, type: type as RecordType }, signal),
      ])
      return toValidity(validate(ZONE, parents, keys, own, clock.elapsed()))
    },
  }
}

function toValidity(validated: Validated): Validity {
  return validated.kind === 'bogus' ? { kind: 'bogus', ede: [{ code: validated.code, text: '' }] } : validated
}
