import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startVitest } from 'vitest/node'

/**
 * `npm run test:interop`, `test:image` and `test:cluster [-- filter…]`: installs what is missing of Debian's packages, and runs
 * the tests that need them.
 */
const SUITES = {
  interop: { include: 'e2e/interop/**/*.interop.ts', timeout: 120_000 },
  image: { include: 'e2e/deploy/**/*.image.ts', timeout: 1_800_000 },
  cluster: { include: 'e2e/deploy/**/*.cluster.ts', timeout: 600_000 },
}

const [name = '', ...filters] = process.argv.slice(2)
const suite = SUITES[name as keyof typeof SUITES]
if (!suite) throw new Error(`There is no suite "${name}"; there are: ${Object.keys(SUITES).join(', ')}.`)

const root = fileURLToPath(new URL('..', import.meta.url))
const installed = spawnSync('sh', ['scripts/install-packages.sh', name], { cwd: root, stdio: 'inherit' })
if (installed.status !== 0) process.exit(installed.status ?? 1)

if (name === 'cluster') enterOwnNetwork()

const test = {
  include: [suite.include],
  maxWorkers: 2,
  maxConcurrency: 20,
  testTimeout: suite.timeout,
  hookTimeout: suite.timeout,
}
const vitest = await startVitest('test', filters, { root, config: false, run: true }, { test })
await vitest.close()

/** Starts this again where nobody else sees its networks, mounts and processes, and none of them outlives it. */
function enterOwnNetwork(): void {
  if (process.env.ZONEWATCH_OWN_NETWORK) return
  const self = [process.execPath, ...process.argv.slice(1)]
  const env = { ...process.env, ZONEWATCH_OWN_NETWORK: '1' }
  // The first process must be one that reaps orphans, as a shell does: Patroni waits until a PostgreSQL that ended is gone.
  const first = ['sh', '-c', 'ip link set lo up; "$@"; exit "$?"', 'sh']
  const { status } = spawnSync(
    'unshare',
    ['--net', '--mount', '--pid', '--mount-proc', '--fork', '--kill-child', ...first, ...self],
    { stdio: 'inherit', env },
  )
  process.exit(status ?? 1)
}
