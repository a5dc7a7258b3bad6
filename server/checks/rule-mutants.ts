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

const never = (file: string, list: string, ...rules: string[]) => rules.map((rule) => ({ file, list, rule }))
const threshold = (file: string, constant: string, value: string) => ({ file, constant, value })

export const RULE_MUTANTS: readonly RuleMutant[] = [
  ...never(
    'checks/confirmation-rules.ts',
    'RULES',
    'One query',
    'DNSSEC',
    'As recorded',
    'Own network',
    "Zone's name servers",
    'Split horizon',
    'Few name servers',
    'Zone decides',
    'Resolvers decide',
  ),
  ...never(
    'checks/resolver-rules.ts',
    'RESOLVER_RULES',
    'Second resolver',
    'Silence',
    'Lame delegation',
    'CNAME loop',
    'All fail',
    'Copies in caches',
    'Zone fails',
    'One resolver against failures',
    'Two agree',
    'Recorded, beside failures',
    'Third resolver',
    'One good answer',
    'All differ',
    'Wait',
    'Majority',
  ),
  ...never(
    'checks/sampling.ts',
    'SAMPLING_RULES',
    'Usual number of answers',
    'Each server its own answer',
    'Denials',
    'Enough equal answers',
    'Part of the expected values',
    'All the same',
    'Rotation',
  ),
  ...never(
    'checks/rotation-rules.ts',
    'MEMBER_RULES',
    'New members and our own network',
    'More answers',
    'All members gone',
    'No certain member',
    'Certain members',
  ),
  ...never(
    'checks/rotation-rules.ts',
    'CHANGE_RULES',
    'Recorded members',
    'Back again, or valid at first',
    'New or changed rotation',
    'Absent expected values',
    'Nothing in doubt',
  ),
  threshold('checks/check-state.ts', 'INCONCLUSIVE_DELAYS_MS', '[1, 1, 1] as const'),
  threshold('checks/check-state.ts', 'WITHHELD_DELAY_MS', '6 * 3_600_000'),
  threshold('checks/check-state.ts', 'MAX_INCONCLUSIVE', '0'),
  threshold('checks/check-state.ts', 'RETRY_PAUSE_MS', '0'),
  threshold('checks/dnssec-rule.ts', 'MAX_OTHERS', '0'),
  threshold('checks/resolver-rules.ts', 'OTHER_RESOLVERS', '0'),
  threshold('checks/resolver-rules.ts', 'SILENT_ROUNDS', '0'),
  threshold('checks/rotation-rules.ts', 'USUAL_SAMPLES', '1'),
  threshold('checks/rotation-rules.ts', 'MAX_INCONCLUSIVE_MEMBERS', '1'),
  threshold('checks/rotation-rules.ts', 'MAX_INCONCLUSIVE_REPLACED', '1'),
  threshold('checks/rotation-rules.ts', 'PROPAGATION_MS', '0'),
  threshold('checks/rotation-rules.ts', 'RESOLVER_ANSWERS_TO_PROVE_ABSENCE', '1'),
  threshold('checks/rotation-rules.ts', 'MAX_WAIT_MS', '0'),
  threshold('checks/rotation.ts', 'MIN_MEMBER_SHARE', '0.5'),
  threshold('checks/rotation.ts', 'MAX_ERROR_PROBABILITY', '0.5'),
  threshold('checks/rotation.ts', 'RECHECK_PROBABILITY', '1e-9'),
  threshold('checks/rotation.ts', 'ANSWERS_TO_PROVE_ABSENCE', '1'),
  threshold('checks/rotation.ts', 'MAX_MEMBERS', '2'),
  threshold('checks/rotation.ts', 'MAX_CHARACTERS', '20'),
  threshold('checks/rotation.ts', 'MAX_ANSWERS', '2'),
  threshold('checks/rotation.ts', 'ANSWERS_BEFORE', '1'),
  threshold('checks/sampling.ts', 'MAX_SAMPLES', '2'),
  threshold('checks/sampling.ts', 'MAX_SAMPLING_MS', '0'),
  threshold('checks/sampling.ts', 'DISAGREEMENT_ROUNDS', '1'),
  threshold('checks/sampling.ts', 'DENIAL_DISAGREEMENT_ROUNDS', '0'),
  threshold('checks/split-horizon.ts', 'MAX_ZONE_CUTS', '0'),
  threshold('checks/split-horizon.ts', 'STATIC_PAUSE_MS', '0'),
  threshold('checks/split-horizon.ts', 'STATIC_SAMPLES', '1'),
  threshold('checks/split-horizon.ts', 'MAX_STALE_TTL_S', '1e9'),
  threshold('checks/split-horizon.ts', 'MAX_OTHERS', '0'),
  { file: 'checks/confirmation-rules.ts', name: 'stale answers are trusted', from: ' && !isStale(reply)', to: '' },
]
