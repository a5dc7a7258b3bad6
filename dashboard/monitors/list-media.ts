import { useCallback, useSyncExternalStore } from 'react'

/** Whether the window is at least this wide. */
export function useIsFrom(width: string): boolean {
  const query = `(min-width: ${width})`
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query)
      media.addEventListener('change', listener)
      return () => media.removeEventListener('change', listener)
    },
    [query],
  )
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches)
}

/** Whether there is room for a table; else its rows are written in two lines. */
export const useIsWide = (): boolean => useIsFrom('48rem')
