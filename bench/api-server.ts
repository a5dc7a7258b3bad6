import { pino } from 'pino'
import { createApp } from '../server/app.ts'
import { readConfig } from '../server/config.ts'
import { openDoors } from '../server/outside.ts'

/** The API of the real server in a process of its own; its settings come from the environment. */
const config = readConfig()
const doors = openDoors(config, config.secret!, pino({ level: 'silent' }))
const app = await createApp(doors)
/** The floor: an answer of so many bytes that costs nothing to make, and needs no key. */
const answers = new Map<string, string>()
app.get('/constant/:bytes', async (request, reply) => {
  const { bytes } = request.params as { bytes: string }
  const kept = answers.get(bytes) ?? JSON.stringify({ text: 'x'.repeat(Number(bytes) - 11) })
  answers.set(bytes, kept)
  return reply.type('application/json; charset=utf-8').send(kept)
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.send!({ url })
process.once('disconnect', () => process.exit(0))
