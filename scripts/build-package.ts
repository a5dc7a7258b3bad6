import { cpSync, rmSync } from 'node:fs'
import { buildDashboard } from './build-dashboard.ts'
import { buildServer } from './build-server.ts'

/** `npm run package`: builds what people install in `build/`. `npm pack ./build` makes one file of it. */
await buildDashboard()
rmSync('build', { recursive: true, force: true })
await buildServer('build')
cpSync('dashboard/dist', 'build/dashboard/dist', { recursive: true })
cpSync('docs', 'build/docs', { recursive: true, filter: (path) => !path.startsWith('docs/screenshots') })
for (const each of ['bin', 'CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md'])
  cpSync(each, `build/${each}`, { recursive: true })
