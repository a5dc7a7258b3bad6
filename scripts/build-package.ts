import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { buildDashboard } from './build-dashboard.ts'

/**
 * `npm pack` runs this first. It compiles the server to JavaScript in `build/`, because Node strips no types below
 * `node_modules`, and copies the files that it reads. The layout of the repository keeps relative paths valid.
 */
await buildDashboard()
rmSync('build', { recursive: true, force: true })
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.package.json'], { stdio: 'inherit' })
cpSync('dashboard/dist', 'build/dashboard/dist', { recursive: true })
cpSync('docs', 'build/docs', { recursive: true, filter: (path) => !path.startsWith('docs/screenshots') })

// The package.json of the built files resolves `#contract/….ts` to JavaScript.
const { name, version, description, type } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, string>
const imports = { '#contract/*.ts': './contract/*.js' }
writeFileSync('build/package.json', `${JSON.stringify({ name, version, description, type, imports }, null, 2)}\n`)
