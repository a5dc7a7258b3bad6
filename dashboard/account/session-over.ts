import { useSyncExternalStore } from 'react'

/** Requests that met the end of the session wait here until the person has signed in again. */
let waiting: { promise: Promise<boolean>; end: (isBack: boolean) => void } | undefined
const listeners = new Set<() => void>()

/** Shows the dialog, one for all requests. Resolves with true once the person has signed in again. */
export function untilSignedIn(): Promise<boolean> {
  if (!waiting) {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    waiting = { promise, end: resolve }
    for (const listener of listeners) listener()
  }
  return waiting.promise
}

/** The requests that wait are sent again. */
export function continueSession(): void {
  waiting?.end(true)
  waiting = undefined
  for (const listener of listeners) listener()
}

export const useIsSessionOver = (): boolean => useSyncExternalStore(subscribe, () => waiting !== undefined)

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
