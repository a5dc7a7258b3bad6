import { CliError } from '../cli-error.ts'
import { BadConfig, type Config, readConfig } from '../config/config.ts'

/** The settings, or a `CliError` that lists every wrong one. */
export function loadConfig<T = Config>(read: () => T = readConfig as () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof BadConfig)) throw error
    const lines = Object.entries(error.errors).map(([name, sentence]) => `  ${name} ${sentence}`)
    throw new CliError(`Invalid settings:\n${lines.join('\n')}`)
  }
}
