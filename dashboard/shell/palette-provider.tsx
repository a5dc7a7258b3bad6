import { createContext, lazy, type ReactNode, Suspense, use, useEffect, useMemo, useState } from 'react'

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }))

const PaletteContext = createContext({ open: () => {} })
export const usePalette = () => use(PaletteContext)

/** Ctrl+K or ⌘K opens the command palette on any page. Its code is loaded at the first use. */
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
