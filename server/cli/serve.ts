import { execFile, fork } from 'node:child_process'
import type { Logger } from 'pino'
import { systemClock } from '../clock.ts'
import { isStartedBySystemd } from '../config/config.ts'
import { startCheckpoints } from '../database/sqlite-checkpoints.ts'
import { watchSqliteFile } from '../database/sqlite-file.ts'
import { sqlitePathOf } from '../database/url.ts'
import { createLog } from '../log.ts'
import { planProcesses, Supervisor } from '../supervisor.ts'
import { isAlive } from './is-alive.ts'
import { loadConfig } from './load-config.ts'

/**
 * With V8's default semi-space of 16 MB a check takes a fifth more CPU time under load. Two V8 threads instead of four save 2.5 MB
 * in each process and do not slow checks down.
 */
const EXEC_ARGV = ['--max-semi-space-size=64', '--v8-pool-size=2']

/** `zonewatch serve`: runs the server's processes until SIGTERM, SIGINT or SIGHUP (the terminal was closed). */
export async function serve(): Promise<void> {
  const config = loadConfig()
  const log = await createLog(config)
  for (const { name, nearest } of config.unknownSettings) {
    log.warn(`${name} is not a setting of Zonewatch and has no effect. Did you mean ${nearest}?`)
  }
  const stop = new AbortController()
  let stopCheckpoints = () => {}
  let backups = Promise.resolve()
  const supervisor = new Supervisor({
    processes: planProcesses(config.roles, config.workers),
    fork: (roles) => fork(process.argv[1]!, ['process', roles.join(',')], { execArgv: EXEC_ARGV }),
    onPrepared: () => {
      const path = sqlitePathOf(config.databaseUrl)
      if (path !== undefined) {
        stopCheckpoints = startCheckpoints(path)
        watchSqliteFile(path, (message) => supervisor.abort(message))
      }
      if (config.backupDir !== null) backups = runBackups(config.backupDir, config.backupEveryMs, log, stop.signal)
    },
    onReady: () => notifyServiceManager('READY=1', log),
    clock: systemClock,
    log,
  })
  // Under npm, Ctrl-C sends two signals. The second must not interrupt the orderly stop.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
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
  await Promise.race([backups, systemClock.sleep(1_000)])
  metrics?.close()
  stopCheckpoints()
  log.info('Stopped.')
  process.exit(0)
}

/** Runs each backup in a separate process, which is killed when the server stops. */
async function runBackups(folder: string, everyMs: number, log: Logger, stop: AbortSignal): Promise<void> {
  const { deleteUnfinished, runSchedule } = await import('../backup/schedule.ts')
  const run = () =>
    new Promise<boolean>((resolve) => {
      const child = fork(process.argv[1]!, ['scheduled-backup'], { signal: stop, killSignal: 'SIGKILL' })
      child.once('error', (err) => {
        if (stop.aborted) return // it ends
        log.error({ err }, 'The backup could not be started. Retrying.')
        resolve(false)
      })
      child.once('exit', (code, signal) => {
        if (signal !== null) {
          deleteUnfinished(folder, isAlive, systemClock.now())
          if (!stop.aborted) log.error({ signal }, 'The backup was killed. Retrying.')
        }
        resolve(code === 0)
      })
    })
  await runSchedule({ folder, everyMs, clock: systemClock, run }, stop)
}

/** Does nothing unless systemd started the server as a service of `Type=notify`. */
function notifyServiceManager(state: 'READY=1' | 'STOPPING=1', log: Logger): void {
  if (!isStartedBySystemd()) return
  // Node has no Unix datagram sockets, so systemd's program sends the message.
  execFile('systemd-notify', [state], (err) => {
    if (err) log.warn({ err }, `systemd-notify could not report ${state}.`)
  })
}
