import { hash } from 'node:crypto'
import type { Outcome, Reply } from '../dns/outcome.ts'
import type { QueryBudget } from '../dns/resolver/query-budget.ts'

/** In octets: what a value takes besides its text. */
const OVERHEAD = 40

/**
 * The RRsets that one check keeps, counted in its budget. A check queries an RRset of up to 64 KiB up to 72 times, so equal ones are kept
 * once.
 */
export class KeptAnswers {
  readonly #budget: QueryBudget
  readonly #byHash = new Map<string, string[]>()

  constructor(budget: QueryBudget) {
    this.#budget = budget
  }

  /** A copy of the reply, to be kept. */
  keep<T extends Reply>(reply: T): T {
    const outcome = this.#share(reply.outcome)
    const evidence = reply.evidence.map((exchange) => {
      const isSame = exchange.outcome === reply.outcome
      return { ...exchange, outcome: isSame ? outcome : exchange.outcome && this.#share(exchange.outcome) }
    })
    return { ...reply, outcome, evidence }
  }

  #share(outcome: Outcome): Outcome {
    switch (outcome.kind) {
      case 'answer':
        return { ...outcome, rrset: { ...outcome.rrset, values: this.#shareValues(outcome.rrset.values) } }
      case 'referral':
        return { ...outcome, nameServers: this.#shareValues(outcome.nameServers), glue: [] }
      case 'lame':
        return { ...outcome, nameServers: this.#shareValues(outcome.nameServers) }
      case 'nodata':
      case 'nxdomain':
      case 'failure':
      case 'cname_loop':
      case 'malformed':
      case 'timeout':
      case 'unreachable':
        return outcome
    }
  }

  #shareValues(values: string[]): string[] {
    const key = hash('sha256', JSON.stringify(values))
    const known = this.#byHash.get(key)
    if (known) return known
    this.#byHash.set(key, values)
    this.#budget.keep(values.reduce((sum, value) => sum + Buffer.byteLength(value) + OVERHEAD, 0))
    return values
  }
}
