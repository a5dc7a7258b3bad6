import { hostname } from 'node:os'
import { scryptPasswords } from '../access/passwords.ts'
import { runScheduler } from '../checks/worker.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { type Database, pathOf } from '../database/database.ts'
import { enterProcess, leaveProcess, runPresence } from '../database/processes.ts'
import { startCheckpoints } from '../database/sqlite-checkpoints.ts'
import { runEventSweep } from '../events/sweep.ts'
import { createLog } from '../log.ts'
import { runMailWorker } from '../mail/worker.ts'
import { findSetupLink } from '../organization/setup-link.ts'
import { hasOrganizations, insertOrganization, whileEmpty } from '../organization/store.ts'
import { closeDoors, type Doors, openDoors } from '../outside.ts'
import { runCourier } from '../webhooks/courier.ts'
import { runSweep } from '../webhooks/sweep.ts'
import { loadConfig, loadSecret, prepareDatabase, prepareDataFolder, reasonOf } from './open.ts'

/** What is under way at SIGTERM is finished within this, then given up and left to be done again. */
const DRAIN_MS = 6_000

/** For so long at least requests are answered 503 before the port is closed, so that a load balancer notices. */
const REFUSING_MS = 1_000

/** Starts everything, serves until a signal comes, and ends with nothing claimed. */
export async function serve(): Promise<void> {
  const terminated = terminationSignal()
  const config = loadConfig()
  prepareDataFolder(config)
  let isStarting = true
  let isStopping = false
  const secret = loadSecret(config)
  const doors = {
    ...openDoors(config, secret.text, createLog(config)),
    isStarting: () => isStarting,
    isStopping: () => isStopping,
  }
  const { db, clock, log } = doors
  const app = config.roles.has('api') ? await (await import('../app.ts')).createApp(doors) : undefined
  await app?.listen({ host: config.host, port: config.port }).catch(refuseToListen(config))
  await prepareDatabase(db, config, secret)
  const path = pathOf(config.databaseUrl)
  const stopCheckpoints = path === undefined ? () => {} : startCheckpoints(path)
  await makeAdmin(db, config, clock.now())
  const self = { pid: process.pid, machine: hostname(), isAlive }
  const id = await enterProcess(db, self, clock.now())

  const stop = new AbortController()
  const abandon = new AbortController()
  const signals = { stop: stop.signal, abandon: abandon.signal }
  isStarting = false
  const loops: Promise<void>[] = [runPresence({ ...doors, self, process: id }, signals)]
  if (config.roles.has('checker')) {
    loops.push(runScheduler({ ...doors, process: id }, signals), runEventSweep(doors, signals))
  }
  if (config.roles.has('courier')) {
    const limits = { inAll: config.courierConcurrency, perWebhook: config.webhookConcurrency }
    loops.push(runCourier({ ...doors, process: id }, signals, limits), runSweep(doors, signals))
  }
  if (config.roles.has('courier')) loops.push(runMailWorker({ ...doors, process: id }, signals))
  await greet(doors)

  await terminated
  log.info('Stopping: what is under way is finished first.')
  isStopping = true
  stop.abort()
  const refused = app ? systemClock.sleep(REFUSING_MS) : undefined
  const drained = Promise.allSettled([refused, ...loops]).then(() => app?.close())
  await Promise.race([drained, systemClock.sleep(DRAIN_MS)])
  abandon.abort()
  await Promise.race([drained, systemClock.sleep(1_000)])
  await leaveProcess(db, id, clock.now()).catch((err: unknown) =>
    log.error({ err }, 'Claims could not be given back; their leases run out.'),
  )
  stopCheckpoints()
  await Promise.race([closeDoors(doors), systemClock.sleep(1_000)])
  log.info('Stopped.')
  process.exit(0)
}

async function makeAdmin(db: Database, { admin }: Config, now: number): Promise<void> {
  if (!admin || (await hasOrganizations(db))) return
  const passwordHash = await scryptPasswords.hash(admin.password)
  const name = admin.email.split('@')[1]!
  const given = { name, email: admin.email, passwordHash, ...(admin.apiKey ? { apiKey: admin.apiKey } : {}) }
  await whileEmpty(db, (transaction) => insertOrganization(transaction, given, now))
}

/** Says in plain words where to go first. */
async function greet({ config, db, seal, log }: Doors): Promise<void> {
  const at = config.roles.has('api')
    ? `Zonewatch answers at ${config.baseUrl} (its API is described at ${config.baseUrl}/docs)`
    : 'Zonewatch is running'
  log.info(`${at} and keeps its data in ${config.databaseUrl.startsWith('sqlite:') ? config.dataDir : 'PostgreSQL'}.`)
  if (await hasOrganizations(db)) {
    log.info(`Sign in at ${config.baseUrl}/dashboard; programs send an API key in the header X-Api-Key.`)
    return
  }
  const link = await findSetupLink(db, seal, config.baseUrl)
  if (link === undefined) return
  log.info(`There is no organization yet. Make one, and your account, in a browser: ${link}`)
  log.info('The link works once. On the command line instead: npm run zonewatch -- setup --help')
}

function refuseToListen({ host, port }: Config) {
  return (error: unknown): never => {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new CliError(`Port ${port} on ${host} is in use by another program; set PORT to a free one.`)
    throw new CliError(`Port ${port} on ${host} cannot be listened on (${reasonOf(error)}); set HOST and PORT.`)
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Ctrl-C comes twice under npm, from the terminal and from npm: the second must not break off what the first began. */
function terminationSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => resolve())
  })
}
