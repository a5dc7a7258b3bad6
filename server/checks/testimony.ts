import type { AuthoritativeReply, Authorities } from '../dns/delegation/authorities.ts'
import { isBelow } from '../dns/names.ts'
import type { Lookup } from './lookup.ts'
import { isFailure } from './replies.ts'

/** What one of a zone's name servers has to say about all that a check asks. `owner`: the name that was asked for. */
export type Testimony = AuthoritativeReply & { owner: string; voice: number }

/** As many of a zone's name servers are heard. */
const MOST_VOICES = 4

export type TestimonyOptions = { fresh?: boolean; signal: AbortSignal }

/** Hears several name servers of the zone, one after which the others follow at once. */
export async function hearZone(
  authorities: Authorities,
  ask: Lookup,
  options: TestimonyOptions,
): Promise<[Testimony, ...Testimony[]]> {
  const first = await hearOne(authorities, ask, 0, options)
  const count = Math.min(first.nameServers.length, MOST_VOICES)
  // Behind a failure stand all servers of the zone already.
  if (isFailure(first.outcome) || count < 2) return [first]
  const { signal } = options
  const others = await Promise.all(
    Array.from({ length: count - 1 }, (_, at) => hearOne(authorities, ask, at + 1, { signal })),
  )
  return deepest([first, ...others])
}

/** Begins with the name server of that number. */
export async function hearOne(
  authorities: Authorities,
  ask: Lookup,
  voice: number,
  { fresh = false, signal }: TestimonyOptions,
): Promise<Testimony> {
  let first: { owner: string; reply: AuthoritativeReply } | undefined
  let isFromCache = false
  const dns: Parameters<Lookup>[0] = {
    async ask(question, options) {
      const reply = await authorities.ask(question, { voice, fresh, withinMs: options?.withinMs, signal })
      first ??= { owner: question.name, reply }
      isFromCache ||= reply.isFromCache
      return reply
    },
  }
  const { outcome, evidence } = await ask(dns, { signal })
  if (!first) throw new Error('A check asked nothing.')
  return { ...first.reply, owner: first.owner, voice, outcome, evidence, isFromCache }
}

/** A server above that denies what another one refers to is outdone by those that it refers to. */
function deepest(heard: [Testimony, ...Testimony[]]): [Testimony, ...Testimony[]] {
  const deep = heard.reduce((best, { zone }) => (zone !== best && isBelow(zone, best) ? zone : best), heard[0].zone)
  const [first = heard[0], ...others] = heard.filter(({ zone }) => zone === deep)
  return [first, ...others]
}
