import { Type } from 'typebox'
import { registrationChangeCheck } from '../registration-check.ts'
import { CHANGE_COUNTS_MS } from '../registration-memory.ts'

const domain = Type.String()

export const registrationUnlocked = registrationChangeCheck({
  code: 'registration_unlocked',
  level: 'warning',
  about:
    'The transfer lock of the domain was removed (client transfer prohibited, server transfer prohibited). It ends when the lock is back, and after 14 days.',
  params: { domain },
  text: ({ domain }) => `The transfer lock of ${domain} was removed.`,
  advice: ({ domain }) =>
    `If you are not moving ${domain} to another registrar, set the lock again and check the account.`,
  find: ({ domain, at }, { unlockedAt }) =>
    unlockedAt !== null && at - unlockedAt < CHANGE_COUNTS_MS ? { domain } : undefined,
})

export const registrarChanged = registrationChangeCheck({
  code: 'registrar_changed',
  level: 'warning',
  about: 'The domain has another registrar. It ends after 14 days.',
  params: { domain, registrar: Type.String(), previous: Type.String() },
  text: ({ domain, registrar, previous }) => `${domain} has moved from the registrar ${previous} to ${registrar}.`,
  advice: () => 'If nobody of you has moved it, ask both registrars at once. If somebody has, ignore the finding.',
  find: ({ domain, at }, { changed, registrar }) =>
    changed !== null && registrar !== null && at - changed.at < CHANGE_COUNTS_MS
      ? { domain, registrar, previous: changed.from }
      : undefined,
})
