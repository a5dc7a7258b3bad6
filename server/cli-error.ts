/** Ends a command with this message and exit code 1, without a stack trace. */
export class CliError extends Error {}

/** Node reports a refused connection as an `AggregateError` without a message. */
export function errorMessage(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return errorMessage(error.errors[0])
  return error instanceof Error ? error.message || error.name : String(error)
}
