import { ROOT } from '../addresses.ts'
import { NAME_SERVERS, type Zone } from './zone.ts'

/** A root zone that delegates directly to every zone, so that no query goes to the real root. */
export function rootText(zones: readonly Omit<Zone, 'file'>[]): string {
  const delegations = zones.flatMap(({ name, servers }) =>
    NAME_SERVERS.filter(({ address }) => servers.includes(address)).map((server) => `${name}. NS ${server.name}.`),
  )
  const glue = NAME_SERVERS.map(({ name, address }) => `${name}. A ${address}`)
  return `${['$TTL 300', `. SOA ${SELF} . 1 3600 600 86400 300`, `. NS ${SELF}`, `${SELF} A ${ROOT}`, ...delegations, ...glue].join('\n')}\n`
}

/** The root hints of a recursive server. */
export const HINTS = `. 300 NS a.root.test.\na.root.test. 300 A ${ROOT}\n`

const SELF = 'a.root.test.'
