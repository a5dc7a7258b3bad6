import { type CONFIRMATION_REASONS, type ConfirmationReason, textOf } from '#contract/reasons.ts'

/** How a verdict was reached: one reason and, if the resolvers decided, why. */
export type Confirmation = ConfirmationReason[]

type PlainCode = Exclude<
  keyof typeof CONFIRMATION_REASONS,
  | `name_servers_${'agree' | 'majority' | 'failed' | 'fail_validation'}`
  | 'name_server_confirmed'
  | 'zone_denied'
  | `split_horizon${string}`
  | 'unclassified'
>

export const CONFIRMATIONS = {
  failureConfirmed: (why: ConfirmationReason | undefined) => withWhy('failure_confirmed', why),
  allServersFail: because('all_servers_fail'),
  validationFails: because('validation_fails'),
  validationFailsAbove: because('validation_fails_above'),
  serversFailValidation: (names: readonly string[]): Confirmation => [
    { code: 'name_servers_fail_validation', params: { name_servers: [...names] } },
  ],
  validationUnconfirmed: because('validation_unconfirmed'),
  cnameLoop: because('loop_by_links'),
  ownNetworkDown: because('own_network_down'),
  recordedValuesReturned: because('recorded_values_returned'),
  resolversAgree: (servers: number, why: ConfirmationReason | undefined) =>
    withWhy(servers > 1 ? 'resolvers_agree' : 'resolver_confirmed', why),
  resolversDisagree: because('resolvers_disagree'),
  resolversMajority: because('resolvers_majority'),
  nameServersDisagree: because('name_servers_disagree'),
  rotating: because('rotating'),
  rotationUnconfirmed: because('rotation_unconfirmed'),
  rotationEnded: because('rotation_ended'),
  absenceUnconfirmed: because('absence_unconfirmed'),
  flapping: because('flapping'),
  nameServersMajority: (names: readonly string[], supporters: readonly string[]): Confirmation => [
    { code: 'name_servers_majority', params: { name_servers: [...names], supporters: [...supporters] } },
  ],
  nameServersBusy: plain('name_servers_busy'),
  nameServersFailed: (outcome: string): ConfirmationReason => ({ code: 'name_servers_failed', params: { outcome } }),
  rootProblem: (code: 'root_servers_unreachable' | 'queries_intercepted') => plain(code),
  nameServersSilent: because('name_servers_silent'),
  onlyCopies: because('only_copies'),
  copiesExpired: because('copies_do_not_count'),
  fewNameServers: because('few_name_servers'),
  delegationChanging: because('delegation_changing'),
  resolversChosen: plain('resolvers_chosen'),
  zoneDenied: (zone: string, names: readonly string[]): Confirmation => [
    { code: 'zone_denied', params: { zone: zone || '.', name_servers: [...names] } },
  ],
  splitHorizon: (zone: string): ConfirmationReason => ({ code: 'split_horizon', params: { zone: zone || '.' } }),
  splitHorizonPossible: (zone: string): ConfirmationReason => ({
    code: 'split_horizon_possible',
    params: { zone: zone || '.' },
  }),
} as const

export function nameServersAgree(names: readonly string[]): Confirmation {
  const code = names.length > 1 ? 'name_servers_agree' : 'name_server_confirmed'
  return [{ code, params: { name_servers: [...names] } }]
}

/** In English. */
export const confirmationText = (confirmation: readonly ConfirmationReason[]): string =>
  confirmation.map(textOf).join(' ')

function because(code: PlainCode): Confirmation {
  return [plain(code)]
}

function withWhy(code: PlainCode, why: ConfirmationReason | undefined): Confirmation {
  return why ? [plain(code), why] : [plain(code)]
}

// TypeScript does not distribute over so many codes.
function plain(code: PlainCode): ConfirmationReason {
  return { code, params: {} } as ConfirmationReason
}
