/**
 * The codes of findings about zones. A code never changes its meaning. Its level, parameters, text and advice are in the file of its check
 * in `server/zones/checks/`.
 */
export const ZONE_FINDING_CODES = [
  'zone_gone',
  'not_a_zone',
  'no_name_server_answers',
  'unexpected_name_server',
  'name_servers_differ',
  'name_servers_disjoint',
  'glue_differs',
  'name_server_lame',
  'name_server_refuses',
  'name_server_silent',
  'name_server_without_address',
  'name_server_without_tcp',
  'single_name_server',
  'single_network',
  'serial_behind',
  'serial_went_back',
  'same_serial_differs',
  'secondary_expires',
  'dnssec_bogus',
  'dnssec_partly_bogus',
  'signatures_expire',
  'ds_sha1_only',
  'ds_without_key',
  'old_algorithm',
  'nsec3_iterations',
  'registration_expires_30_days',
  'registration_expires_14_days',
  'registration_expires_7_days',
  'registration_expires_1_day',
  'registration_expired',
  'registration_on_hold',
  'registration_redemption',
  'registration_pending_delete',
  'registration_unlocked',
  'registrar_changed',
  'registry_name_servers_differ',
  'registry_ds_differs',
] as const
export type ZoneFindingCode = (typeof ZONE_FINDING_CODES)[number]

/** The least serious first. */
export const FINDING_LEVELS = ['info', 'warning', 'error', 'critical'] as const
export type FindingLevel = (typeof FINDING_LEVELS)[number]

/** The worst level of the findings that count, from `warning` on. */
export const ZONE_HEALTH = ['unknown', 'ok', 'warning', 'error', 'critical'] as const
export type ZoneHealth = (typeof ZONE_HEALTH)[number]

/** The healths that an alert rule can send, and those that it sends by default. */
export const ZONE_ALERT_LEVELS = ['warning', 'error', 'critical'] as const
export const DEFAULT_ZONE_LEVELS = ['error', 'critical'] as const

/** Why the last look at a zone has no result. */
export const WITHHELD_REASONS = {
  no_roots: 'DNS_ROOTS is off, so that Zonewatch cannot ask the servers of the parent zone.',
  network: 'The network of Zonewatch itself, or its path to the root servers, does not work.',
  clock:
    'The signatures of the root zone seem to have expired, or not to be valid yet. Usually the clock of this server is wrong: set it, for example with NTP.',
  parent_silent: 'No server of the parent zone answered.',
  busy: 'Too many queries wait for the name servers, or the look took too long.',
} as const
export type WithheldReason = keyof typeof WITHHELD_REASONS

/** Why the last look-up of a registration has no result. */
export const REGISTRATION_PROBLEMS = {
  rate_limited: 'The RDAP server of the registry limits the number of look-ups.',
  unreachable: 'The RDAP server of the registry could not be reached.',
  refused: 'The address of the RDAP server is not public, so that Zonewatch does not connect to it.',
  invalid_response: 'The RDAP server of the registry sent no usable response.',
} as const
export type RegistrationProblem = keyof typeof REGISTRATION_PROBLEMS

/** `no_rdap`: the registry has no RDAP server. `unknown`: not looked up yet. */
export const REGISTRATION_STATES = ['registered', 'not_found', 'no_rdap', 'unknown'] as const
