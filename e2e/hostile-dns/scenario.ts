import type { MonitorState, NewMonitor } from '#contract/monitors.ts'
import type { Lab, LabOptions } from './lab.ts'

/**
 * One thing that happens to a monitor that was VALID. `fault` strikes, the monitor is checked again and again, then all is
 * restored and it is checked again and again.
 */
export type Scenario = {
  name: string
  lab?: LabOptions
  /** Else an A record of `www.example.test` in exact mode. */
  monitor?: Partial<NewMonitor>
  /** What is otherwise than usual from the beginning. */
  before?: (lab: Lab) => void
  fault: (lab: Lab) => void | Promise<void>
  /** What else happens, after two further checks. */
  later?: (lab: Lab) => void
  /** The state that the fault leads to and stays at. */
  becomes: MonitorState
  values?: string[]
  /** How many events the fault may make, 1 unless the state stays VALID. */
  events?: number
  /** Part of what the last event's diagnosis says. */
  says?: string
  recover?: (lab: Lab) => void
  /** Checks before the fault, 2 unless given. */
  warmUp?: number
  /** Checks while the fault lasts, and after it: as many as disagreeing paths need. */
  checks?: number
}
