import { ApiProblem, type RateLimit } from '../api.ts'

export type Failure<T> = { item: T; problem: unknown }
/** `resumesAt`: when the run continues, while the rate limit stops it. */
export type Progress<T> = { done: number; failures: readonly Failure<T>[]; resumesAt?: number | undefined }

type Options<T> = {
  act: (item: T) => Promise<unknown>
  onProgress: (progress: Progress<T>) => void
  signal: AbortSignal
  wait: (ms: number) => Promise<void>
  /** The rate limit as of the last response. */
  window?: () => RateLimit | undefined
  now?: () => number
}

const CONCURRENCY = 4
const MAX_ATTEMPTS = 4
/** The share of the rate limit that other tabs of the user keep. */
const RESERVED_SHARE = 1 / 3

/**
 * Runs `act` for each item, four at a time. It waits when the server asks to, collects failures and continues with the other
 * items. An aborted signal ends it early, without a failure.
 */
export async function runEach<T>(items: readonly T[], options: Options<T>): Promise<Progress<T>> {
  const { onProgress, signal, wait, window, now = Date.now } = options
  const failures: Failure<T>[] = []
  let nextIndex = 0
  let done = 0
  let running = 0
  /** Counts the running requests, and leaves the reserved share. */
  const rateLimitDelayMs = () => {
    const { limit, remaining, resetAt } = window?.() ?? { limit: 0, remaining: 0, resetAt: 0 }
    return remaining - running > limit * RESERVED_SHARE ? 0 : resetAt - now()
  }
  const worker = async () => {
    while (nextIndex < items.length && !signal.aborted) {
      const ms = rateLimitDelayMs()
      if (ms > 0) {
        onProgress({ done, failures: [...failures], resumesAt: now() + ms })
        await wait(ms)
        continue
      }
      running += 1
      const item = items[nextIndex++]!
      try {
        await runWithRetries(item, options)
        done += 1
      } catch (problem) {
        if (!signal.aborted) failures.push({ item, problem })
      }
      running -= 1
      onProgress({ done, failures: [...failures] })
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, items.length) }, worker))
  return { done, failures }
}

async function runWithRetries<T>(item: T, { act, signal, wait }: Options<T>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await act(item)
      return
    } catch (problem) {
      const ms = retryDelay(problem, attempt)
      if (ms === undefined || signal.aborted) throw problem
      await wait(ms)
      if (signal.aborted) throw problem
    }
  }
}

/** Milliseconds until the next attempt; undefined when a retry does not help. */
function retryDelay(problem: unknown, attempt: number): number | undefined {
  if (!(problem instanceof ApiProblem)) return undefined
  // A rate limit always ends, so these attempts have no limit.
  if (problem.status === 429) return (problem.retryAfter ?? 1) * 1000
  const isTransient = problem.status === 0 || problem.status === 503
  return isTransient && attempt < MAX_ATTEMPTS ? 500 * 2 ** attempt : undefined
}
