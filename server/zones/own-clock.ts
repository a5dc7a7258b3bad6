import { isAnswering, type ServerFacts } from './facts.ts'

const TIME_CAUSES: ReadonlySet<string> = new Set(['signature_expired', 'signature_not_yet_valid'])

/**
 * Whether signatures of the root zone seem to have expired, or not to be valid yet. The root zone is signed twice a day and watched by
 * everybody: the own clock is wrong. Then nothing is known about the signatures of any zone.
 */
export const isOwnClockWrong = (servers: readonly ServerFacts[]): boolean =>
  servers.filter(isAnswering).some(({ response: { verdict } }) => {
    if (verdict?.kind !== 'bogus' || !TIME_CAUSES.has(verdict.cause.code)) return false
    const { name, type } = verdict.cause.params as { name: string; type: string }
    return name === '' || (type === 'DS' && !name.includes('.'))
  })
