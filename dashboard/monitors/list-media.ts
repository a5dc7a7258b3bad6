import { useSyncExternalStore } from 'react'

const wide = matchMedia('(min-width: 768px)')

function subscribe(listener: () => void): () => void {
  wide.addEventListener('change', listener)
  return () => wide.removeEventListener('change', listener)
}

/** Whether there is room for a table; else its rows are written in two lines. */
export const useIsWide = (): boolean => useSyncExternalStore(subscribe, () => wide.matches)
