import { ApiProblem } from '../api.ts'

export type Failure<T> = { item: T; problem: unknown }
export type Progress<T> = { done: number; failures: readonly Failure<T>[] }

type Options<T> = {
  act: (item: T) => Promise<unknown>
  onProgress: (progress: Progress<T>) => void
  signal: AbortSignal
  wait: (ms: number) => Promise<void>
}

const AT_ONCE = 4
const TRIES = 4

/**
 * Does the same to each, a few at a time. A server that asks to wait is waited for; what fails is kept and the others go on.
 * Ends early, without a failure, when the signal says so.
 */
export async function runEach<T>(items: readonly T[], options: Options<T>): Promise<Progress<T>> {
  const { onProgress, signal } = options
  const failures: Failure<T>[] = []
  let begun = 0
  let done = 0
  const lane = async () => {
    while (begun < items.length && !signal.aborted) {
      const item = items[begun++]!
      try {
        await patiently(item, options)
        done += 1
      } catch (problem) {
        if (!signal.aborted) failures.push({ item, problem })
      }
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
