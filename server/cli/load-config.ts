import { CliError } from '../cli-error.ts'
import { type Config, InvalidConfig, readConfig } from '../config/config.ts'

/** Throws a `CliError` that lists every invalid setting. */
export function loadConfig(): Config {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error
    const lines = Object.entries(error.errors).map(([setting, message]) => `  ${setting} ${message}`)
    throw new CliError(`Invalid settings:\n${lines.join('\n')}`)
  }
}
