import type { MonitorState } from './monitors.ts'

export type FailingState = Exclude<MonitorState, 'VALID' | 'UNSET'>

/** The states that send alerts. A separate file, so that the dashboard loads it without the schemas. */
export const FAILING_STATES = [
  ...(['MISMATCH', 'NOT_FOUND', 'NO_DATA', 'TIMEOUT', 'INVALID', 'BAD_SETUP'] as const),
] as const satisfies readonly FailingState[]
