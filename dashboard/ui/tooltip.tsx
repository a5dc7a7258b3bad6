import { Tooltip as Base } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'

export function Tooltips({ children }: { children: ReactNode }) {
  return <Base.Provider delay={350}>{children}</Base.Provider>
}

/** Additional information only; it must not be the only place for it. */
export function Tooltip({ text, children }: { text: ReactNode; children: ReactElement<Record<string, unknown>> }) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-50">
          <Base.Popup className="popup max-w-80 rounded-md bg-ink px-2.5 py-1.5 text-xs text-canvas">{text}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
