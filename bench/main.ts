/** `npm run bench -- <name> [options]` runs bench/<name>.ts with the other options. */
const NAMES = [
  ...[
    'api',
    'checks',
    'dashboard',
    'fairness',
    'idle',
    'incident',
    'jobs',
    'lists',
    'nodes',
    'replica',
    'retention',
    'schedule',
  ],
  ...['size', 'soak', 'webhooks'],
]

const [name = ''] = process.argv.splice(2, 1)
if (!NAMES.includes(name)) {
  const isHelp = name === '--help'
  const problem = isHelp || name === '' ? '' : `There is no benchmark ${name}. `
  const usage = `${problem}Name a benchmark: npm run bench -- ${NAMES.join(', ')}. npm run bench -- <name> --help lists its options.\n`
  ;(isHelp ? process.stdout : process.stderr).write(usage)
  process.exit(isHelp ? 0 : 1)
}
await import(`./${name}.ts`)
