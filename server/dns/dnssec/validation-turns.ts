import type { Clock } from '../../clock.ts'
import type { ValidationCall } from '../dnssec-validator.ts'
import { createSemaphore, OverloadError } from '../semaphore.ts'
import { type DnssecVerdict, unknown } from './dnssec-verdict.ts'
import { CHECK_STEPS, type ValidationWork } from './validation-work.ts'

/** In steps: what nearly every check costs at most. */
export const USUAL_STEPS = 1_500
/** For each step beyond that, so that they take a fifth of the CPU of a process. */
export const REST_MS_PER_STEP = 4 * 0.0035
/** Beyond that a check does not wait. */
const MAX_WAITING = 200

/**
 * When responses are validated. What a check costs beyond the usual is done one after the other and with pauses, and organizations take
 * turns: the zone that makes it costly belongs to somebody who may have a thousand monitors of it.
 */
export type ValidationTurns = {
  /** `validate` may be called twice. Rejects with the reason of the signal. */
  run(call: ValidationCall, validate: (work: ValidationWork | undefined) => DnssecVerdict): Promise<DnssecVerdict>
}

export function createValidationTurns(clock: Pick<Clock, 'sleep'>): ValidationTurns {
  const turns = createSemaphore(1, MAX_WAITING)
  return {
    async run({ work, signal, group }, validate) {
      if (!work) return validate(undefined)
      const usual = Math.max(0, work.left - (CHECK_STEPS - USUAL_STEPS))
      const first = work.within(usual, validate)
      if (first.kind !== 'unknown' || first.reason !== 'too_much_work') return first
      try {
        await turns.acquire(signal, group)
      } catch (error) {
        if (error instanceof OverloadError) return unknown('too_much_work')
        throw error
      }
      const before = work.left
      try {
        return validate(work)
      } finally {
        void clock.sleep((before - work.left) * REST_MS_PER_STEP).then(() => turns.release())
      }
    },
  }
}
