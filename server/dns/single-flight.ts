/** Whoever asks for the same while it is under way gets what comes of it, good or bad. */
export type SingleFlight<T> = (key: string, signal: AbortSignal | undefined, begin: () => Promise<T>) => Promise<T>

type UnderWay<T> = { signal: AbortSignal | undefined; result: Promise<T> }

/** Only those with the same signal go singleFlight: one that gives up must not break off another's. */
export function createSingleFlight<T>(): SingleFlight<T> {
  const underWay = new Map<string, UnderWay<T>>()

  return (key, signal, begin) => {
    const same = underWay.get(key)
    if (same) return same.signal === signal ? same.result : begin()
    const result = begin()
    underWay.set(key, { signal, result })
    const forget = () => underWay.delete(key)
    // The first to get the result, so that whoever asks again then is asking afresh.
    result.then(forget, forget)
    return result
  }
}
