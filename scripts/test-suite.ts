import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startVitest } from 'vitest/node'

/**
 * `npm run test:interop`, `test:image` and `test:cluster [-- filter…]` install missing Debian packages and run the tests that
 * need them.
 */
const SUITES = {
  interop: { include: 'e2e/interop/**/*.interop.ts', timeout: 120_000 },
  /** Part of interop. Its servers need port 53, as in the real DNS. */
  'resolver-models': { include: 'e2e/interop/resolver-models.interop.ts', timeout: 120_000 },
  image: { include: 'e2e/deploy/**/*.image.ts', timeout: 1_800_000 },
  cluster: { include: 'e2e/deploy/**/*.cluster.ts', timeout: 600_000 },
}

const [first = '', ...filters] = process.argv.slice(2)
const name = first === 'interop' && filters[0] === 'resolver-models' ? filters.shift()! : first
const suite = SUITES[name as keyof typeof SUITES]
if (!suite) throw new Error(`There is no suite "${name}"; there are: ${Object.keys(SUITES).join(', ')}.`)

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = name === 'resolver-models' ? 'interop' : name
const installed = spawnSync('sh', ['scripts/install-packages.sh', packages], { cwd: root, stdio: 'inherit' })
if (installed.status !== 0) process.exit(installed.status ?? 1)

if (name === 'cluster' || name === 'resolver-models') enterOwnNamespaces()

const test = {
  include: [suite.include],
  exclude: name === 'interop' ? [SUITES['resolver-models'].include] : [],
  maxWorkers: 2,
  // The timelines of the resolver models begin together.
  maxConcurrency: name === 'resolver-models' ? 200 : 20,
  testTimeout: suite.timeout,
  hookTimeout: suite.timeout,
}
const vitest = await startVitest('test', filters, { root, config: false, run: true }, { test })
await vitest.close()
if (name === 'interop' && filters.length === 0) {
  const script = fileURLToPath(import.meta.url)
  const { status } = spawnSync(process.execPath, [script, 'resolver-models'], { cwd: root, stdio: 'inherit' })
  process.exitCode ||= status ?? 1
}

/** Restarts this program in its own network, mount and process namespaces, which end with it. */
function enterOwnNamespaces(): void {
  if (process.env.ZONEWATCH_OWN_NETWORK) return
  const self = [process.execPath, ...process.argv.slice(1)]
  const env = { ...process.env, ZONEWATCH_OWN_NETWORK: '1' }
  // The first process must reap orphans, as a shell does: Patroni waits until an ended PostgreSQL is reaped.
  const first = ['sh', '-c', 'ip link set lo up; "$@"; exit "$?"', 'sh']
  const { status } = spawnSync(
    'unshare',
    ['--net', '--mount', '--pid', '--mount-proc', '--fork', '--kill-child', ...first, ...self],
    { stdio: 'inherit', env },
  )
  process.exit(status ?? 1)
}
