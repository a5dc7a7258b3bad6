import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'
const CHOSEN = 'zonewatch.theme'
const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

const chosen = (): Theme => (localStorage.getItem(CHOSEN) as Theme | null) ?? 'system'

function apply(): void {
  const theme = chosen()
  document.documentElement.classList.toggle('dark', theme === 'dark' || (theme === 'system' && dark.matches))
  for (const listener of listeners) listener()
}
dark.addEventListener('change', apply)

/** The theme that was chosen, kept in this browser. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const theme = useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, chosen)
  const choose = (next: Theme) => {
    if (next === 'system') localStorage.removeItem(CHOSEN)
    else localStorage.setItem(CHOSEN, next)
    apply()
  }
  return [theme, choose]
}
