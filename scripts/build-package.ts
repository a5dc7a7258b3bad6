import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { buildDashboard } from './build-dashboard.ts'

/**
 * What `npm pack` runs first: `build/` gets the server as JavaScript, because Node strips no types below `node_modules`, with
 * the files that it reads. It has the layout of the repository, so that relative paths stay as they are.
 */
await buildDashboard()
rmSync('build', { recursive: true, force: true })
execFileSync('node_modules/.bin/tsc', ['-p', 'tsconfig.package.json'], { stdio: 'inherit' })
cpSync('dashboard/dist', 'build/dashboard/dist', { recursive: true })
cpSync('docs', 'build/docs', { recursive: true, filter: (path) => !path.startsWith('docs/screenshots') })

// The nearest package.json of the built files: it resolves `#contract/….ts` to JavaScript.
const { name, version, description, type } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, string>
const imports = { '#contract/*.ts': './contract/*.js' }
writeFileSync('build/package.json', `${JSON.stringify({ name, version, description, type, imports }, null, 2)}\n`)
