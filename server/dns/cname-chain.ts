import type { ResourceRecord } from './messages.ts'
import type { CnameChain, Outcome } from './outcome.ts'

/** In CNAME records. */
const MAX_CNAME_CHAIN = 16

/** The CNAME chain from `name` in one answer section, or the outcome if it cannot be followed. */
export function followCnameChain(answer: ResourceRecord[], name: string): CnameChain | Outcome {
  const cnames = answer.filter((record) => record.type === 'CNAME')
  const chain: CnameChain = []
  for (let current = name; ; ) {
    const links = cnames.filter((record) => record.name === current)
    if (links.length === 0) return chain
    const [value, ...others] = new Set(links.map((record) => record.value))
    // RFC 2181 section 10.1 allows only one.
    if (others.length > 0) return { kind: 'malformed', reason: `${current} has more than one CNAME record` }
    const target = value === '.' ? '' : value!
    chain.push({ name: current, target, ttl: Math.min(...links.map((link) => link.ttl)) })
    if (isCnameLoop(chain)) return { kind: 'cname_loop', chain }
    current = target
  }
}

/** Whether a chain contains a name twice, or is too long to follow. */
export function isCnameLoop(chain: CnameChain): boolean {
  const names = new Set(chain.map((link) => link.name))
  return chain.length > MAX_CNAME_CHAIN || names.size < chain.length || names.has(chain.at(-1)?.target ?? '.')
}

/** The outcome of a chain's last target, as the outcome of its first name. */
export function withChainBefore(before: CnameChain, outcome: Outcome): Outcome {
  if (!('chain' in outcome)) return outcome
  const chain = [...before, ...outcome.chain]
  return isCnameLoop(chain) ? { kind: 'cname_loop', chain } : { ...outcome, chain }
}
