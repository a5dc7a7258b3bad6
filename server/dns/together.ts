/** Whoever asks for the same while it is under way gets what comes of it, good or bad. */
export type Together<T> = (key: string, signal: AbortSignal | undefined, begin: () => Promise<T>) => Promise<T>

type UnderWay<T> = { signal: AbortSignal | undefined; result: Promise<T> }

/** Only those with the same signal go together: one that gives up must not break off another's. */
export function createTogether<T>(): Together<T> {
  const underWay = new Map<string, UnderWay<T>>()

  // Ends before anyone hears of the result, so that whoever asks again then is asking afresh.
  async function run(key: string, begin: () => Promise<T>): Promise<T> {
    try {
      return await begin()
    } finally {
      underWay.delete(key)
    }
  }

  return (key, signal, begin) => {
    const same = underWay.get(key)
    if (same) return same.signal === signal ? same.result : begin()
    const result = run(key, begin)
    underWay.set(key, { signal, result })
    return result
  }
}
