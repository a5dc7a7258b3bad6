import { fork } from 'node:child_process'
import { systemClock } from '../clock.ts'
import { startCheckpoints } from '../database/sqlite-checkpoints.ts'
import { pathOf } from '../database/url.ts'
import { createLog } from '../log.ts'
import { planProcesses, Supervisor } from '../supervisor.ts'
import { loadConfig } from './load-config.ts'

/** With V8's default of 16 MB a check took a fifth more CPU time under load. */
const EXEC_ARGV = ['--max-semi-space-size=64']

/** `zonewatch serve`: starts the server's processes, keeps them running until a signal comes, and ends them. */
export async function serve(): Promise<void> {
  const config = loadConfig()
  const log = createLog(config)
  let stopCheckpoints = () => {}
  const supervisor = new Supervisor({
    processes: planProcesses(config.roles, config.workers),
    fork: (roles) => fork(process.argv[1]!, ['process', roles.join(',')], { execArgv: EXEC_ARGV }),
    onPrepared: () => {
      const path = pathOf(config.databaseUrl)
      if (path !== undefined) stopCheckpoints = startCheckpoints(path)
    },
    clock: systemClock,
    log,
  })
  // Ctrl-C comes twice under npm, from the terminal and from npm: the second must not break off what the first began.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => supervisor.stop())
  }
  await supervisor.run()
  stopCheckpoints()
  log.info('Stopped.')
  process.exit(0)
}
