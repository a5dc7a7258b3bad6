import { type ReactNode, useEffect } from 'react'
import { LogoMark } from '../ui/logo.tsx'

/** The frame of pages without a session. */
export function Card({
  title,
  lead,
  children,
  below,
}: {
  title: string
  lead?: ReactNode
  children: ReactNode
  below?: ReactNode
}) {
  useEffect(() => {
    document.title = `${title} · Zonewatch`
  }, [title])
  return (
    <main className="grid min-h-dvh place-items-center bg-canvas px-4 py-10">
      <div className="w-full max-w-sm">
        <LogoMark className="mx-auto size-10" />
        <h1 className="mt-5 text-center text-xl font-semibold tracking-tight">{title}</h1>
        {lead && <p className="mt-1 text-center text-sm text-faint">{lead}</p>}
        <div className="mt-6 rounded-lg border border-line bg-surface p-5">{children}</div>
        {below && <p className="mt-4 text-center text-sm text-faint">{below}</p>}
        <p className="mt-6 text-center text-xs text-faint">
          <a href="/docs" className="rounded-sm hover:text-ink">
            Documentation
          </a>
        </p>
      </div>
    </main>
  )
}
