import { Type } from 'typebox'
import type { FindingLevel, ZoneFindingCode } from '#contract/zone-codes.ts'
import { DAY_MS, toIso } from '../../times.ts'
import { type RegistrationNow, registrationCheck } from '../registration-check.ts'
import { minute } from '../zone-check.ts'

const params = {
  domain: Type.String(),
  expires_at: Type.String({ format: 'date-time' }),
  registrar: Type.Union([Type.String(), Type.Null()]),
}

/** Registries renew by themselves at the end, and take it back if the registrar does not pay. */
const isRenewed = ({ statuses }: RegistrationNow) => statuses.includes('auto renew period')
const isEnding = ({ statuses }: RegistrationNow) =>
  statuses.includes('redemption period') || statuses.includes('pending delete')

/** The registry still had the date of the past a day after it. Until then, it may be about to renew. */
export function isExpired(now: RegistrationNow): boolean {
  const { expiresAt, lookedUpAt } = now
  return expiresAt !== null && lookedUpAt >= expiresAt + DAY_MS && !isRenewed(now)
}

/** Each of these follows the one before it. */
function expiresWithin(code: ZoneFindingCode, level: FindingLevel, days: number, nextDays: number, about: string) {
  return registrationCheck({
    ...{ code, level, about, params },
    text: ({ domain, expires_at }) => `The registration of ${domain} ends at ${minute(expires_at)}.`,
    advice: ({ domain, registrar }) =>
      `Renew ${domain} at ${registrar ?? 'its registrar'}, or make sure that automatic renewal is on and the payment works.`,
    find: (now) => {
      const { domain, expiresAt, at, registrar } = now
      if (expiresAt === null || isRenewed(now) || isExpired(now) || isEnding(now)) return undefined
      const left = expiresAt - at
      const isWithin = left <= days * DAY_MS && (nextDays === 0 || left > nextDays * DAY_MS)
      return isWithin ? { domain, expires_at: toIso(expiresAt), registrar } : undefined
    },
  })
}

export const registrationExpires30Days = expiresWithin(
  ...(['registration_expires_30_days', 'info', 30, 14] as const),
  'The registration of the domain ends in 14 to 30 days.',
)
export const registrationExpires14Days = expiresWithin(
  ...(['registration_expires_14_days', 'warning', 14, 7] as const),
  'The registration of the domain ends in 7 to 14 days.',
)
export const registrationExpires7Days = expiresWithin(
  ...(['registration_expires_7_days', 'error', 7, 1] as const),
  'The registration of the domain ends in 1 to 7 days.',
)
export const registrationExpires1Day = expiresWithin(
  ...(['registration_expires_1_day', 'critical', 1, 0] as const),
  'The registration of the domain ends within a day.',
)

export const registrationExpired = registrationCheck({
  code: 'registration_expired',
  level: 'critical',
  about:
    'The registration of the domain ended more than a day ago, and the registry has not renewed it. Auto-renew periods do not count.',
  params,
  text: ({ domain, expires_at }) => `The registration of ${domain} ended at ${minute(expires_at)}.`,
  advice: ({ domain, registrar }) => `Renew ${domain} at ${registrar ?? 'its registrar'} at once.`,
  find: (now) => {
    const { domain, expiresAt, registrar } = now
    return expiresAt !== null && isExpired(now) && !isEnding(now)
      ? { domain, expires_at: toIso(expiresAt), registrar }
      : undefined
  },
})
