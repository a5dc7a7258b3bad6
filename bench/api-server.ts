import { pino } from 'pino'
import { createApp } from '../server/app.ts'
import { readConfig } from '../server/config/config.ts'
import { openDeps } from '../server/deps.ts'

/** The API of a real server in its own process, with settings of the environment. */
const config = readConfig()
const deps = openDeps(config, config.secret!, pino({ level: 'silent' }))
const app = await createApp(deps)
/** The baseline: constant responses of a given size, with and without authentication. */
const responses = new Map<string, string>()
for (const [path, requiresAuth] of [['/constant', true] as const, ['/constant-without-key', false] as const]) {
  app.get(`${path}/:bytes`, { config: { requiresAuth } }, async (request, reply) => {
    const { bytes } = request.params as { bytes: string }
    const text = responses.get(bytes) ?? JSON.stringify({ text: 'x'.repeat(Number(bytes) - 11) })
    responses.set(bytes, text)
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.send!({ url })
// CPU seconds since the start, of all threads.
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send!({ cpu: (user + system) / 1e6 })
})
process.once('disconnect', () => process.exit(0))
