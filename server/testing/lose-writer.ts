import { openDatabase } from '../database/database.ts'
import { inWriter } from '../database/in-thread.ts'
import { endThread } from './thread-work.ts'

/** A process with a database, `argv[2]`, whose writer ends and that would go on for a minute. */
const db = openDatabase(process.argv[2]!, { inThread: true })
const module = new URL('./thread-work.ts', import.meta.url).href
await inWriter(db, { module, work: endThread }, null).catch(() => {})
setTimeout(() => {}, 60_000)
