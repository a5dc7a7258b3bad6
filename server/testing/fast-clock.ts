import { type Clock, systemClock } from '../clock.ts'
import { patientClock } from './patient-clock.ts'

/** A clock that runs `factor` times faster, so that deadlines of seconds pass in a moment, in their order. */
export function createFastClock(factor: number): Clock {
  const [startedAt, elapsedAtStart] = [systemClock.now(), patientClock.elapsed()]
  const elapsed = () => (patientClock.elapsed() - elapsedAtStart) * factor
  return {
    now: () => Math.floor(startedAt + elapsed()),
    elapsed,
    sleep: (ms, signal) => patientClock.sleep(ms / factor, signal),
  }
}
