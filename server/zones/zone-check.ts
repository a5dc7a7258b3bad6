import type { Static, TProperties } from 'typebox'
import type { FindingLevel, ZoneFindingCode } from '#contract/zone-codes.ts'
import { type AnsweringServer, type Delegation, isAnswering, type ServerFacts, type ZoneFacts } from './facts.ts'
import type { ZoneMemory } from './memory.ts'

/** What a check sees of a zone that the parent zone delegates. `expected`: the name servers that were learned or set. */
export type DelegatedZone = {
  zone: string
  facts: ZoneFacts & { delegation: Delegation }
  servers: readonly ServerFacts[]
  memory: ZoneMemory
  expected: readonly string[]
}

type Params<P extends TProperties> = { [Name in keyof P]: Static<P[Name]> }

/** `about`: the name of a name server; empty for the whole zone. There is at most one finding for each code and `about`. */
export type Found<P> = { about: string; params: P }
/** The look does not say whether it is so: a finding about it neither begins nor ends. */
export type Unknown = { about: string; isUnknown: true }

type Texts<P extends TProperties> = {
  code: ZoneFindingCode
  level: FindingLevel
  /** What it means, for the reference. */
  about: string
  params: P
  text(params: Params<P>): string
  advice(params: Params<P>): string
}

/** A kind of finding, and when a zone has it. Pure. */
export type ZoneCheck<P extends TProperties = TProperties> = Texts<P> & {
  find(zone: DelegatedZone): readonly (Found<Params<P>> | Unknown)[]
  /** For a zone that the parent zone does not delegate; without it, nothing is known. `wasDelegated`: in an earlier look. */
  findUndelegated?(facts: ZoneFacts, wasDelegated: boolean): readonly (Found<Params<P>> | Unknown)[]
}

/** Keeps the types of the parameters together. */
export const zoneCheck = <P extends TProperties>(check: ZoneCheck<P>): ZoneCheck => check as unknown as ZoneCheck // its parameters are only ever passed to its own texts

/** The look does not say whether the zone has it. */
export const UNKNOWN: readonly Unknown[] = [{ about: '', isUnknown: true }]

/** A finding for each name server for which `find` returns parameters. */
export function aboutServers<P extends object>(
  servers: readonly ServerFacts[],
  find: (server: ServerFacts) => P | undefined | 'unknown',
): (Found<P> | Unknown)[] {
  return servers.flatMap((server): (Found<P> | Unknown)[] => {
    const params = find(server)
    if (params === 'unknown') return [{ about: server.name, isUnknown: true }]
    return params === undefined ? [] : [{ about: server.name, params }]
  })
}

/** As `aboutServers`, for those that answer. Of the others it is unknown. */
export const aboutAnswering = <P extends object>(
  servers: readonly ServerFacts[],
  find: (server: AnsweringServer) => P | undefined | 'unknown',
) => aboutServers(servers, (server) => (isAnswering(server) ? find(server) : 'unknown'))

/** A finding about the whole zone. */
export const aboutZone = <P extends object>(params: P | undefined): Found<P>[] =>
  params === undefined ? [] : [{ about: '', params }]

/** The delegated servers: what the parent zone does not name, no resolver asks. */
export const delegated = (servers: readonly ServerFacts[]): ServerFacts[] =>
  servers.filter(({ isDelegated }) => isDelegated)

/** `2026-11-21 06:30 UTC` */
export const minute = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`
