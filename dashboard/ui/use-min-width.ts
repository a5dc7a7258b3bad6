import { useCallback, useSyncExternalStore } from 'react'

/** Whether the window is at least this wide. */
export function useMinWidth(width: string): boolean {
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

/** Whether the window is wide enough for a table. Narrower ones show a list. */
export const useIsWide = (): boolean => useMinWidth('48rem')
