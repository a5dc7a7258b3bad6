import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { unpackBrowser } from './browser.ts'

/** Runs before all tests, so that they do not build the dashboard and unpack the browser at the same time. */
export default async function setup(): Promise<void> {
  await Promise.all([buildDashboard(), unpackBrowser()])
}
