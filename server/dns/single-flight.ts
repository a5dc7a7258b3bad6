/** Callers with the same key share one result or error while it is in progress. */
export type SingleFlight<T> = (key: string, signal: AbortSignal | undefined, run: () => Promise<T>) => Promise<T>

type InProgress<T> = { signal: AbortSignal | undefined; result: Promise<T> }

/** Only callers with the same signal share: a caller that aborts must not abort the others. */
export function createSingleFlight<T>(): SingleFlight<T> {
  const inProgress = new Map<string, InProgress<T>>()

  return (key, signal, run) => {
    const same = inProgress.get(key)
    if (same) return same.signal === signal ? same.result : run()
    const result = run()
    inProgress.set(key, { signal, result })
    const remove = () => inProgress.delete(key)
    // Registered before any caller's handler, so that a caller's next call starts a new run.
    result.then(remove, remove)
    return result
  }
}
