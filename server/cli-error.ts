/** Ends a command with one clear sentence for the person who started it, and exit code 1. */
export class CliError extends Error {}

export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message || error.name : String(error)
}
