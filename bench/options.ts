import { type ParseArgsConfig, parseArgs } from 'node:util'

/** The options of a benchmark. Prints them and ends the process for `--help`, and for an option that it does not have. */
export function readOptions<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes('--help')) {
    process.stdout.write(usageOf(config))
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usageOf(config)}`)
    process.exit(1)
  }
}

function usageOf({ options = {} }: ParseArgsConfig): string {
  const lines = Object.entries(options).map(([name, { type, default: preset }]) => {
    const value = type === 'boolean' ? '' : ` <${preset === undefined || preset === '' ? 'value' : preset}>`
    return `  --${name}${value}\n`
  })
  return `Options, with their defaults:\n${lines.join('')}`
}
