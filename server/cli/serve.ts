import { execFile, fork } from 'node:child_process'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import { isStartedBySystemd } from '../config/config.ts'
import { startCheckpoints } from '../database/sqlite-checkpoints.ts'
import { pathOf } from '../database/url.ts'
import { createLog } from '../log.ts'
import { planProcesses, Supervisor } from '../supervisor.ts'
import { loadConfig } from './load-config.ts'

/**
 * With V8's default of 16 MB a check took a fifth more CPU time under load. Each process has two threads of V8 instead
 * of four, which saves 2.5 MB and made checks no slower.
 */
const EXEC_ARGV = ['--max-semi-space-size=64', '--v8-pool-size=2']

/** `zonewatch serve`: starts the server's processes, keeps them running until a signal comes, and ends them. */
export async function serve(): Promise<void> {
  const config = loadConfig()
  const log = await createLog(config)
  const stop = new AbortController()
  let stopCheckpoints = () => {}
  const supervisor = new Supervisor({
    processes: planProcesses(config.roles, config.workers),
    fork: (roles) => fork(process.argv[1]!, ['process', roles.join(',')], { execArgv: EXEC_ARGV }),
    onPrepared: () => {
      const path = pathOf(config.databaseUrl)
      if (path !== undefined) stopCheckpoints = startCheckpoints(path)
      if (config.backupDir !== null) void runBackups(config.backupDir, config.backupEveryMs, log, stop.signal)
    },
    onReady: () => notifyServiceManager('READY=1', log),
    clock: systemClock,
    log,
  })
  // Ctrl-C comes twice under npm, from the terminal and from npm: the second must not break off what the first began.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      notifyServiceManager('STOPPING=1', log)
      supervisor.stop()
    })
  }
  const metrics = config.metricsPort
    ? await (await import('./metrics-port.ts')).serveMetrics(supervisor, config.metricsPort)
    : undefined
  await supervisor.run()
  stop.abort()
  metrics?.close()
  stopCheckpoints()
  log.info('Stopped.')
  process.exit(0)
}

/** Each backup in a process of its own, which ends with the server. */
async function runBackups(folder: string, everyMs: number, log: Logger, stop: AbortSignal): Promise<void> {
  const run = () =>
    new Promise<boolean>((resolve) => {
      const child = fork(process.argv[1]!, ['scheduled-backup'], { signal: stop, killSignal: 'SIGKILL' })
      child.once('error', (err) => {
        if (!stop.aborted) log.error({ err }, 'The backup could not be started. Retrying.')
        resolve(false)
      })
      child.once('exit', (code, signal) => {
        if (signal !== null && !stop.aborted) log.error({ signal }, 'The backup was killed. Retrying.')
        resolve(code === 0)
      })
    })
  const { runSchedule } = await import('../backup/schedule.ts')
  await runSchedule({ folder, everyMs, clock: systemClock, run }, stop)
}

/** Reports to systemd, where it has started the server as a service of `Type=notify`. Elsewhere it does nothing. */
function notifyServiceManager(state: 'READY=1' | 'STOPPING=1', log: Logger): void {
  if (!isStartedBySystemd()) return
  // Node has no datagram sockets of the local kind; systemd's own program sends for it.
  execFile('systemd-notify', [state], (err) => {
    if (err) log.warn({ err }, `systemd-notify could not report ${state}.`)
  })
}
