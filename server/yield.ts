import { setImmediate } from 'node:timers/promises'

/** Yields to the event loop. SQLite answers synchronously, so awaiting it does not yield. */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate()
}
