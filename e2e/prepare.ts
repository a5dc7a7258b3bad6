import { chmod, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { PROJECT } from '#server/testing/server-process.ts'
import { buildDashboard } from '../scripts/build-dashboard.ts'
import { buildServer } from '../scripts/build-server.ts'
import { unpackBrowser } from './dashboard/browser.ts'

/** Runs before all tests, so that they do not build the dashboard and the server, and unpack the browser, at the same time. */
export default async function setup(): Promise<() => Promise<void>> {
  const [folder] = await Promise.all([buildBundle(), buildDashboard(), unpackBrowser()])
  process.env.SERVER_OF_TESTS = join(folder, 'server/main.js')
  return async () => await rm(folder, { recursive: true })
}

/** The server as people install it, in a folder of this run: it starts faster than the sources, with which `npm start` begins. */
async function buildBundle(): Promise<string> {
  const cache = join(PROJECT, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'server-'))
  await chmod(folder, 0o755) // some tests start it as another user
  await buildServer(folder)
  for (const name of ['dashboard', 'docs']) await symlink(join(PROJECT, name), join(folder, name))
  return folder
}
