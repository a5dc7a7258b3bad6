import { createContext, lazy, type ReactNode, Suspense, use, useEffect, useMemo, useState } from 'react'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

const PaletteContext = createContext({ open: () => {} })
export const usePalette = () => use(PaletteContext)

/** Ctrl or ⌘ with K opens the command palette anywhere; it is fetched when it is first used. */
export function PaletteProvider({ children }: { children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      setOpen((was) => !was)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  const palette = useMemo(() => ({ open: () => setOpen(true) }), [])
  return (
    <PaletteContext value={palette}>
      {children}
      {isOpen && (
        <Suspense>
          <Palette onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </PaletteContext>
  )
}
