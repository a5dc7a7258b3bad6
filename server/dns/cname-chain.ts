import type { ResourceRecord } from './messages.ts'
import type { CnameChain, Outcome } from './outcome.ts'

/** The longest alias chain that is followed, in CNAME records. */
const MAX_CNAME_CHAIN = 16

/** The chain that leads on from `name` inside one answer section, or why it cannot be followed. */
export function followCnameChain(answer: ResourceRecord[], name: string): CnameChain | Outcome {
  const aliases = answer.filter((record) => record.type === 'CNAME')
  const chain: CnameChain = []
  for (let at = name; ; ) {
    const links = aliases.filter((record) => record.name === at)
    if (links.length === 0) return chain
    const [value, ...others] = new Set(links.map((record) => record.value))
    // RFC 2181 section 10.1: which one is meant cannot be told.
    if (others.length > 0) return { kind: 'malformed', reason: `${at} has more than one CNAME record` }
    const target = value === '.' ? '' : value!
    chain.push({ name: at, target, ttl: links.reduce((lowest, link) => Math.min(lowest, link.ttl), links[0]!.ttl) })
    if (isCnameLoop(chain)) return { kind: 'cname_loop', chain }
    at = target
  }
}

/** Whether a chain comes back to a name on it, or is longer than is followed. */
export function isCnameLoop(chain: CnameChain): boolean {
  const names = new Set(chain.map((link) => link.name))
  return chain.length > MAX_CNAME_CHAIN || names.size < chain.length || names.has(chain.at(-1)?.target ?? '.')
}

/** An outcome for the last name of `before`, seen from the first. */
export function withChainBefore(before: CnameChain, outcome: Outcome): Outcome {
  switch (outcome.kind) {
    case 'answer':
    case 'nodata':
    case 'nxdomain':
    case 'cname_loop':
    case 'referral': {
      const chain = [...before, ...outcome.chain]
      return isCnameLoop(chain) ? { kind: 'cname_loop', chain } : { ...outcome, chain }
    }
    case 'failure':
    case 'lame':
    case 'malformed':
    case 'timeout':
    case 'unreachable':
      return outcome
  }
}
