/** Callers that ask for the same while it is in progress share its result or its error. */
export type SingleFlight<T> = (key: string, signal: AbortSignal | undefined, run: () => Promise<T>) => Promise<T>

type InProgress<T> = { signal: AbortSignal | undefined; result: Promise<T> }

/** Only those with the same signal go singleFlight: one that gives up must not break off another's. */
export function createSingleFlight<T>(): SingleFlight<T> {
  const inProgress = new Map<string, InProgress<T>>()

  return (key, signal, begin) => {
    const same = inProgress.get(key)
    if (same) return same.signal === signal ? same.result : begin()
    const result = begin()
    inProgress.set(key, { signal, result })
    const forget = () => inProgress.delete(key)
    // The first to get the result, so that a caller who asks again then starts a new run.
    result.then(forget, forget)
    return result
  }
}
