/**
 * How the simulator breaks each rule and each threshold of a check, to find out whether it would notice: `npm run simulate --
 * --mutants`. `file`: below `server/`. `seed`: of the first world, if the first ones do not show it.
 */
export type RuleMutant = { file: string; seed?: number } /** The rule of this list never applies. */ & (
  | { list: string; rule: string }
  /** The threshold has another value. */
  | { constant: string; value: string }
  | { name: string; from: string; to: string }
)

export const RULE_MUTANTS: readonly RuleMutant[] = [
  { file: 'checks/confirmation-rules.ts', list: 'RULES', rule: "Zone's name servers" },
  { file: 'checks/check-state.ts', constant: 'MAX_INCONCLUSIVE', value: '0' },
]
