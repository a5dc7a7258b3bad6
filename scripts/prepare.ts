import { existsSync } from 'node:fs'
import { buildDashboard } from './build-dashboard.ts'

/**
 * npm runs this after `npm ci`. Without development dependencies (`npm ci --omit=dev`) it cannot build, and the server uses
 * the dashboard of an earlier build.
 */
if (existsSync(new URL('../node_modules/@tailwindcss/vite/package.json', import.meta.url))) await buildDashboard()
else if (!existsSync(new URL('../dashboard/dist/index.html', import.meta.url))) {
  process.stdout.write('The dashboard is not built: run `npm ci` with its development dependencies to build it.\n')
}
