import { systemClock } from '../clock.ts'
import { setStage } from './demo/environment.ts'
import { createScreen, type Screen } from './demo/screen.ts'
import { changeRecord, DemoFailure, showDelivery, showFindings, watchRecords } from './demo/steps.ts'

/** The whole main job before a newcomer's eyes, on this machine alone: `npm run demo`. */
const LIMIT_MS = 60_000

const screen = createScreen(process.stdout, process.env)
const stack = new AsyncDisposableStack()
const startedAt = systemClock.elapsed()
process.exitCode = await Promise.race([tell(screen), interruption(), tooLate()]).catch(explain)
await stack.disposeAsync()
if (process.exitCode === 0) {
  const seconds = ((systemClock.elapsed() - startedAt) / 1000).toFixed(1)
  screen.end(true, `All of it in ${seconds} s, and nothing is left behind. Your own server: npm start`)
}
process.exit()

async function tell(screen: Screen): Promise<number> {
  screen.title('Zonewatch: from a change in the DNS to a signed webhook')
  screen.step('Start', 'everything on this machine; the Internet is not used')
  const stage = await setStage(stack)
  screen.rows([
    { cells: ['name servers', stage.nameServers.join(' and ')] },
    { cells: ['receiver', `${stage.receiver.url}/dns-changes`] },
    { cells: ['Zonewatch', `${stage.zonewatch.url}, ready after ${(stage.zonewatch.startMs / 1000).toFixed(1)} s`] },
  ])
  const { webhook, monitors } = await watchRecords(stage, screen)
  await showFindings(stage, monitors, screen)
  const changedAt = await changeRecord(stage, monitors[0]!, screen)
  await showDelivery(stage, webhook, changedAt, screen)
  return 0
}

function explain(error: unknown): number {
  if (error instanceof DemoFailure) screen.end(false, error.message)
  else screen.end(false, `The demo broke off: ${error instanceof Error ? error.message : String(error)}`)
  return 1
}

/** Ctrl-C, or a polite end from elsewhere. */
function interruption(): Promise<number> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve(130)) // again and again, so that a second one does not break off the cleaning
    process.on('SIGTERM', () => resolve(143))
  })
}

async function tooLate(): Promise<never> {
  await systemClock.sleep(LIMIT_MS)
  throw new DemoFailure(`It was not done within ${LIMIT_MS / 1000} seconds. Is the machine very busy? Try again.`)
}
