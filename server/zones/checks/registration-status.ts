import { Type } from 'typebox'
import { registrationCheck } from '../registration-check.ts'

const domain = Type.String()

export const registrationOnHold = registrationCheck({
  code: 'registration_on_hold',
  level: 'critical',
  about:
    'The domain is on hold (client hold, server hold): the registry does not publish its delegation, so that its names do not resolve. RFC 8056.',
  params: { domain, by: Type.Union([Type.Literal('registrar'), Type.Literal('registry')]) },
  text: ({ domain, by }) => `${domain} is on hold by its ${by}. Its names do not resolve.`,
  advice: ({ domain, by }) =>
    by === 'registrar'
      ? `Ask the registrar of ${domain} why: often an email address that was not verified, or an invoice that was not paid.`
      : `Ask the registrar of ${domain} why the registry has put it on hold: often a dispute or a report of abuse.`,
  find: ({ domain, statuses }) => {
    if (statuses.includes('client hold')) return { domain, by: 'registrar' as const }
    return statuses.includes('server hold') ? { domain, by: 'registry' as const } : undefined
  },
})

export const registrationRedemption = registrationCheck({
  code: 'registration_redemption',
  level: 'critical',
  about: 'The domain was deleted, and its owner can still restore it (redemption period, pending restore). RFC 3915.',
  params: { domain },
  text: ({ domain }) => `${domain} was deleted, and can be restored for a short time.`,
  advice: ({ domain }) => `Ask the registrar at once to restore ${domain}. It costs a fee.`,
  find: ({ domain, statuses }) =>
    statuses.includes('redemption period') || statuses.includes('pending restore') ? { domain } : undefined,
})

export const registrationPendingDelete = registrationCheck({
  code: 'registration_pending_delete',
  level: 'critical',
  about: 'The registry deletes the domain within days, and anybody can register it then (pending delete). RFC 3915.',
  params: { domain },
  text: ({ domain }) => `${domain} is about to be deleted, and anybody can register it then.`,
  advice: ({ domain }) => `Ask the registrar whether ${domain} can still be kept, and prepare to register it again.`,
  // Deleted and restorable is the other finding.
  find: ({ domain, statuses }) =>
    statuses.includes('pending delete') &&
    !statuses.includes('redemption period') &&
    !statuses.includes('pending restore')
      ? { domain }
      : undefined,
})
