import type { MonitorState } from './monitors.ts'

type FailingState = Exclude<MonitorState, 'VALID' | 'UNSET'>

/** States that an alert can be about. A file of its own, which the dashboard loads without the schemas. */
export const FAILING_STATES = [
  ...(['MISMATCH', 'NOT_FOUND', 'NO_DATA', 'TIMEOUT', 'INVALID', 'BAD_SETUP'] as const),
] as const satisfies readonly FailingState[]
