import { ApiProblem, type RateLimit } from '../api.ts'

export type Failure<T> = { item: T; problem: unknown }
/** `waitsUntil`: when the next one is begun, while the rate limit holds it back. */
export type Progress<T> = { done: number; failures: readonly Failure<T>[]; waitsUntil?: number | undefined }

type Options<T> = {
  act: (item: T) => Promise<unknown>
  onProgress: (progress: Progress<T>) => void
  signal: AbortSignal
  wait: (ms: number) => Promise<void>
  /** How the rate limit stood at the last answer, and the time now. */
  window?: () => RateLimit | undefined
  now?: () => number
}

const AT_ONCE = 4
const TRIES = 4
/** The share of the rate limit that is left to the person's other tabs. */
const RESERVE = 1 / 3

/**
 * Does the same to each, a few at a time. A server that asks to wait is waited for; what fails is kept and the others go on.
 * Ends early, without a failure, when the signal says so.
 */
export async function runEach<T>(items: readonly T[], options: Options<T>): Promise<Progress<T>> {
  const { onProgress, signal, wait, window, now = Date.now } = options
  const failures: Failure<T>[] = []
  let begun = 0
  let done = 0
  let underWay = 0
  /** How long the rate limit holds the next one back: those in progress are counted, and the reserve is left. */
  const heldBackMs = () => {
    const { limit, remaining, resetAt } = window?.() ?? { limit: 0, remaining: 0, resetAt: 0 }
    return remaining - underWay > limit * RESERVE ? 0 : resetAt - now()
  }
  const lane = async () => {
    while (begun < items.length && !signal.aborted) {
      const ms = heldBackMs()
      if (ms > 0) {
        onProgress({ done, failures: [...failures], waitsUntil: now() + ms })
        await wait(ms)
        continue
      }
      underWay += 1
      const item = items[begun++]!
      try {
        await patiently(item, options)
        done += 1
      } catch (problem) {
        if (!signal.aborted) failures.push({ item, problem })
      }
      underWay -= 1
      onProgress({ done, failures: [...failures] })
    }
  }
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, lane))
  return { done, failures }
}

async function patiently<T>(item: T, { act, signal, wait }: Options<T>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await act(item)
      return
    } catch (problem) {
      const ms = waitAfter(problem, tries)
      if (ms === undefined || signal.aborted) throw problem
      await wait(ms)
      if (signal.aborted) throw problem
    }
  }
}

/** How long to wait before asking again; undefined where that would not help. */
function waitAfter(problem: unknown, tries: number): number | undefined {
  if (!(problem instanceof ApiProblem)) return undefined
  // A rate limit passes for certain, however often it says so.
  if (problem.status === 429) return (problem.retryAfter ?? 1) * 1000
  const isPassing = problem.status === 0 || problem.status === 503
  return isPassing && tries < TRIES ? 500 * 2 ** tries : undefined
}
