import type { MonitorState, NewMonitor } from '#contract/monitors.ts'
import type { WarningCode } from '#contract/warnings.ts'
import type { Lab, LabOptions } from './lab.ts'

/**
 * A fault that happens to a VALID monitor. The monitor is checked several times during the fault, and several times after
 * everything is restored.
 */
export type Scenario = {
  name: string
  lab?: LabOptions
  /** By default an A record of `www.example.test` in exact mode. */
  monitor?: Partial<NewMonitor>
  /** Changes the network before the first check. */
  before?: (lab: Lab) => void
  fault: (lab: Lab) => void | Promise<void>
  /** A second fault, after two more checks. */
  secondFault?: (lab: Lab) => void
  /** The state during the fault. */
  becomes: MonitorState
  values?: string[]
  /** How many events the fault causes. By default 1, or 0 if the state stays VALID. */
  events?: number
  /** A part of the text of the last diagnosis. */
  diagnosisContains?: string
  /** Codes of warnings of the last diagnosis. */
  warns?: WarningCode[]
  recover?: (lab: Lab) => void
  /** Checks before the fault, 2 by default. */
  warmUp?: number
  /** Checks during and after the fault. Disagreeing servers need more. */
  checks?: number
}
