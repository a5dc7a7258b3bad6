import { systemClock } from '../clock.ts'
import { startEnvironment } from './demo/environment.ts'
import { createScreen, type Screen } from './demo/screen.ts'
import { changeRecord, DemoFailure, showDelivery, showFindings, watchRecords } from './demo/steps.ts'

/** `npm run demo` shows the main workflow on this machine, without the Internet. */
const TIMEOUT_MS = 60_000

const screen = createScreen(process.stdout, process.env)
const stack = new AsyncDisposableStack()
const startedAt = systemClock.elapsed()
process.exitCode = await Promise.race([runDemo(screen), interruption(), timeout()]).catch(reportFailure)
await stack.disposeAsync()
if (process.exitCode === 0) {
  const seconds = ((systemClock.elapsed() - startedAt) / 1000).toFixed(1)
  screen.end(true, `All of it in ${seconds} s, and nothing is left behind. Your own server: npm start`)
}
process.exit()

async function runDemo(screen: Screen): Promise<number> {
  screen.title('Zonewatch: from a change in the DNS to a signed webhook')
  screen.step('Start', 'everything on this machine; the Internet is not used')
  const environment = await startEnvironment(stack)
  screen.rows([
    { cells: ['name servers', environment.nameServers.join(' and ')] },
    { cells: ['receiver', `${environment.receiver.url}/dns-changes`] },
    {
      cells: [
        'Zonewatch',
        `${environment.zonewatch.url}, ready after ${(environment.zonewatch.startMs / 1000).toFixed(1)} s`,
      ],
    },
  ])
  const { webhook, monitors } = await watchRecords(environment, screen)
  await showFindings(environment, monitors, screen)
  const changedAt = await changeRecord(environment, monitors[0]!, screen)
  await showDelivery(environment, webhook, changedAt, screen)
  return 0
}

function reportFailure(error: unknown): number {
  if (error instanceof DemoFailure) screen.end(false, error.message)
  else screen.end(false, `The demo broke off: ${error instanceof Error ? error.message : String(error)}`)
  return 1
}

/** Ends the demo on Ctrl-C or SIGTERM. */
function interruption(): Promise<number> {
  return new Promise((resolve) => {
    process.on('SIGINT', () => resolve(130)) // also for a second one, so that it does not interrupt the cleanup
    process.on('SIGTERM', () => resolve(143))
  })
}

async function timeout(): Promise<never> {
  await systemClock.sleep(TIMEOUT_MS)
  throw new DemoFailure(`It was not done within ${TIMEOUT_MS / 1000} seconds. Is the machine very busy? Try again.`)
}
