import { ROOT } from '../addresses.ts'
import { NAME_SERVERS, type Zone } from './zone.ts'

/** A root of our own that delegates straight to every zone, so that nothing is ever asked of the real one. */
export function rootText(zones: readonly Omit<Zone, 'file'>[]): string {
  const delegations = zones.flatMap(({ name, servers }) =>
    NAME_SERVERS.filter(({ address }) => servers.includes(address)).map((server) => `${name}. NS ${server.name}.`),
  )
  const glue = NAME_SERVERS.map(({ name, address }) => `${name}. A ${address}`)
  return `${['$TTL 300', `. SOA ${SELF} . 1 3600 600 86400 300`, `. NS ${SELF}`, `${SELF} A ${ROOT}`, ...delegations, ...glue].join('\n')}\n`
}

/** Where a recursive server begins. */
export const HINTS = `. 300 NS a.root.test.\na.root.test. 300 A ${ROOT}\n`

const SELF = 'a.root.test.'
