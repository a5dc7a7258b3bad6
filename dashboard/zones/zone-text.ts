import { plural } from '#contract/wording.ts'
import type { Zone } from '#contract/zones.ts'

/** "1 critical, 2 warnings, 1 ignored" */
export function countsText({ findings, health }: Pick<Zone, 'findings' | 'health'>): string {
  const parts = [
    findings.critical > 0 && `${findings.critical} critical`,
    findings.error > 0 && plural(findings.error, '1 error', (count) => `${count} errors`),
    findings.warning > 0 && plural(findings.warning, '1 warning', (count) => `${count} warnings`),
    findings.info > 0 && `${findings.info} info`,
    findings.ignored > 0 && `${findings.ignored} ignored`,
  ].filter((part) => part !== false)
  if (parts.length > 0) return parts.join(', ')
  return health === 'unknown' ? 'Waiting for the first look' : 'No findings'
}

/** "2, in sync", "1 of 2 answers" */
export function serialsText({ servers }: Pick<Zone, 'servers'>): string {
  if (servers.length === 0) return '–'
  const answering = servers.filter(({ state }) => state === 'answers')
  if (answering.length < servers.length)
    return `${answering.length} of ${servers.length} ${answering.length === 1 ? 'answers' : 'answer'}`
  const serials = new Set(answering.map(({ serial }) => serial))
  return serials.size === 1 ? `${servers.length}, in sync` : `${servers.length}, ${serials.size} serials`
}

const DNSSEC: Record<NonNullable<Zone['dnssec']>['state'], string> = {
  unsigned: 'Unsigned',
  secure: 'Secure',
  partly_bogus: 'Partly bogus',
  bogus: 'Bogus',
  unknown: 'Unknown',
}
export const dnssecText = ({ dnssec }: Pick<Zone, 'dnssec'>): string => (dnssec ? DNSSEC[dnssec.state] : '–')

export const REGISTRATION_TEXTS: Record<NonNullable<Zone['registration']>['state'], string> = {
  registered: 'Registered',
  not_found: 'The registry does not know the domain',
  no_rdap: 'Unknown: the registry has no RDAP server',
  unknown: 'Not looked up yet',
}

export const SERVER_STATES: Record<Zone['servers'][number]['state'], string> = {
  answers: 'Answers',
  lame: 'Does not serve the zone',
  refuses: 'Answers with an error',
  silent: 'Does not respond',
  no_address: 'Has no address',
  unknown: 'Unknown',
}

/** Whether the parent zone and the zone itself name the server. */
export function namedByText({ is_delegated, is_in_zone }: Zone['servers'][number]): string {
  if (is_delegated && is_in_zone) return 'Parent and zone'
  return is_delegated ? 'Only the parent zone' : 'Only the zone'
}
