import { useSyncExternalStore } from 'react'

/** Requests of an expired session wait here until the user has signed in again. */
let waiting: { promise: Promise<boolean>; end: (isBack: boolean) => void } | undefined
const listeners = new Set<() => void>()

/** Shows one dialog for all requests. Resolves with true once the user has signed in again. */
export function waitForSignIn(): Promise<boolean> {
  if (!waiting) {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    waiting = { promise, end: resolve }
    for (const listener of listeners) listener()
  }
  return waiting.promise
}

/** Sends the waiting requests again. */
export function continueSession(): void {
  waiting?.end(true)
  waiting = undefined
  for (const listener of listeners) listener()
}

export const useIsSessionExpired = (): boolean => useSyncExternalStore(subscribe, () => waiting !== undefined)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
