import { type Clock, systemClock } from '../clock.ts'
import { patientClock } from './patient-clock.ts'

/** A clock on which everything takes as many times longer: deadlines of seconds pass in a moment, in their true order. */
export function createFastClock(times: number): Clock {
  const [now, elapsed] = [systemClock.now(), patientClock.elapsed()]
  const passed = () => (patientClock.elapsed() - elapsed) * times
  return {
    now: () => Math.floor(now + passed()),
    elapsed: passed,
    sleep: (ms, signal) => patientClock.sleep(ms / times, signal),
  }
}
