import { type CONFIRMATION_REASONS, type ConfirmationReason, textOf } from '#contract/reasons.ts'

/** How a verdict was reached: one reason, and where the resolvers decide, why. */
export type Decided = ConfirmationReason[]

type PlainCode = Exclude<
  keyof typeof CONFIRMATION_REASONS,
  | `name_servers_${'agree' | 'majority' | 'failed'}`
  | 'name_server_confirmed'
  | `split_horizon${string}`
  | 'unclassified'
>

export const REASONS = {
  failed: (why: ConfirmationReason | undefined) => withWhy('failure_confirmed', why),
  lame: because('all_servers_fail'),
  bogus: because('validation_fails'),
  bogusUnproven: because('validation_unconfirmed'),
  loop: because('loop_by_links'),
  network: because('own_network_down'),
  recordedStill: because('recorded_values_returned'),
  resolversAgree: (servers: number, why: ConfirmationReason | undefined) =>
    withWhy(servers > 1 ? 'resolvers_agree' : 'resolver_confirmed', why),
  resolversDiffer: because('resolvers_disagree'),
  resolversDivided: because('resolvers_majority'),
  serversDiffer: because('name_servers_disagree'),
  rotating: because('rotating'),
  rotatingUnproven: because('rotation_unconfirmed'),
  wholeAgain: because('rotation_ended'),
  missingUnproven: because('absence_unconfirmed'),
  flapping: because('flapping'),
  zoneDivided: (names: readonly string[], supporters: readonly string[]): Decided => [
    { code: 'name_servers_majority', params: { name_servers: [...names], supporters: [...supporters] } },
  ],
  zoneBusy: plain('name_servers_busy'),
  zoneFailed: (outcome: string): ConfirmationReason => ({ code: 'name_servers_failed', params: { outcome } }),
  zoneUnreachable: (code: 'root_servers_unreachable' | 'queries_intercepted') => plain(code),
  zoneSilent: because('name_servers_silent'),
  otherView: (zone: string): ConfirmationReason => ({ code: 'split_horizon', params: { zone: zone || '.' } }),
  unknownView: (zone: string): ConfirmationReason => ({
    code: 'split_horizon_possible',
    params: { zone: zone || '.' },
  }),
} as const

export function serversAgree(names: readonly string[]): Decided {
  const code = names.length > 1 ? 'name_servers_agree' : 'name_server_confirmed'
  return [{ code, params: { name_servers: [...names] } }]
}

/** All of it in English. */
export const decidedText = (decided: readonly ConfirmationReason[]): string => decided.map(textOf).join(' ')

function because(code: PlainCode): Decided {
  return [plain(code)]
}

function withWhy(code: PlainCode, why: ConfirmationReason | undefined): Decided {
  return why ? [plain(code), why] : [plain(code)]
}

function plain(code: PlainCode): ConfirmationReason {
  return { code, params: {} }
}
