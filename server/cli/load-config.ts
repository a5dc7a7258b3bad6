import { CliError } from '../cli-error.ts'
import { BadConfig, type Config, readConfig } from '../config/config.ts'

/** Returns the settings. Throws a `CliError` that lists every invalid one. */
export function loadConfig<T = Config>(read: () => T = readConfig as () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    const lines = Object.entries(error.errors).map(([name, sentence]) => `  ${name} ${sentence}`)
    throw new CliError(`Invalid settings:\n${lines.join('\n')}`)
  }
}
