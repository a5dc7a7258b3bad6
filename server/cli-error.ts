/** Ends a command with one clear sentence for the person who started it, and exit code 1. */
export class CliError extends Error {}
