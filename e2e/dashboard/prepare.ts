import { buildDashboard } from '../../scripts/build-dashboard.ts'
import { unpackBrowser } from './browser.ts'

/** Before all tests: what several of them would otherwise make at the same time. */
export default async function setup(): Promise<void> {
  await Promise.all([buildDashboard(), unpackBrowser()])
}
