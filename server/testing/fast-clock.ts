import { type Clock, systemClock } from '../clock.ts'

/** A clock on which everything takes as many times longer: deadlines of seconds pass in a moment, in their true order. */
export function createFastClock(times: number): Clock {
  const [now, elapsed] = [systemClock.now(), systemClock.elapsed()]
  const passed = () => (systemClock.elapsed() - elapsed) * times
  return {
    now: () => Math.floor(now + passed()),
    elapsed: passed,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  }
}
