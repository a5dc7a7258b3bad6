import { setImmediate } from 'node:timers/promises'

/** Lets everything else on the event loop have its turn. SQLite answers at once, so that awaiting it alone gives up none. */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate()
}
