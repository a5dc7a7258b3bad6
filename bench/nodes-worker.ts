import { pino } from 'pino'
import { runQueuedChecks } from '../server/checks/queued-checks.ts'
import { runRounds } from '../server/checks/rounds.ts'
import { readConfig } from '../server/config/config.ts'
import { closeDeps, openDeps } from '../server/deps.ts'

/** The checks of one node, without API and deliveries, until the parent disconnects. */
const [url = '', port = '', number = ''] = process.argv.slice(2)
const SECRET = 'a secret of the benchmark, longer than 32 characters'
const config = readConfig({
  DATABASE_URL: url,
  SECRET,
  DNS_SERVERS: `127.0.0.1:${port}`,
  DNS_PER_SECOND: '1000000',
  DNS_ROOTS: 'off',
  DNS_CANARIES: 'off',
})
const deps = openDeps(config, SECRET, pino({ level: 'warn' }))
const stop = new AbortController()
process.once('disconnect', () => stop.abort())
let answeredQueries = 0
const query: typeof deps.dns.query = async (question, options) => {
  const reply = await deps.dns.query(question, options)
  answeredQueries++
  return reply
}
const dns = { ...deps.dns, query }
const signals = { stop: stop.signal, abandon: stop.signal }
const used = { ...deps, dns, process: Number(number) }
const worker = Promise.all([runQueuedChecks(used, signals), runRounds(used, signals)])
process.send?.(0)
// With a callback, a missing parent is no error.
const reporting = setInterval(() => process.send?.(answeredQueries, undefined, {}, () => {}), 50)
await worker
clearInterval(reporting)
await closeDeps(deps)
