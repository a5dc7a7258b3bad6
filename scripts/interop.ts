import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startVitest } from 'vitest/node'

/** `npm run test:interop [-- filter…]`: installs the DNS servers that are missing and runs the tests against all of them. */
const root = fileURLToPath(new URL('..', import.meta.url))
const installed = spawnSync('sh', ['scripts/install-dns-servers.sh'], { cwd: root, stdio: 'inherit' })
if (installed.status !== 0) process.exit(installed.status ?? 1)

const vitest = await startVitest('test', process.argv.slice(2), { root, config: 'vitest.interop.config.ts', run: true })
await vitest.close()
