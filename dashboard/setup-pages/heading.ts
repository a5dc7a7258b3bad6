import type { PublicPage } from '#contract/setup-pages.ts'

/** The name of the one record, or the domains of several: a customer connects a domain, however many records that takes. */
export function headingOf({ records }: Pick<PublicPage, 'records'>): string {
  const names = [...new Set(records.map(({ name }) => name))]
  const zones = [...new Set(records.map(({ zone }) => zone))]
  const shown = names.length === 1 ? names : zones
  return shown.length <= 2 ? `Connect ${shown.join(' and ')}` : `Connect ${shown[0]} and ${shown.length - 1} others`
}
