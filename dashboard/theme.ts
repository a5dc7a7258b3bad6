import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const STORAGE_KEY = 'zonewatch.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

const storedTheme = (): Theme => (localStorage.getItem(STORAGE_KEY) as Theme | null) ?? 'system'

function apply(): void {
  const theme = storedTheme()
  document.documentElement.classList.toggle('dark', theme === 'dark' || (theme === 'system' && dark.matches))
  for (const listener of listeners) listener()
}
dark.addEventListener('change', apply)

/** The theme of this browser, and the function that changes it. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, storedTheme)
  const change = (next: Theme) => {
    if (next === 'system') localStorage.removeItem(STORAGE_KEY)
    else localStorage.setItem(STORAGE_KEY, next)
    apply()
  }
  return [theme, change]
}
