import { Link, type LinkProps } from '@tanstack/react-router'
import { ChevronLeft, CircleHelp } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { visibleLines } from '#contract/visible-text.ts'
import { cx } from './class-names.ts'

type PageProps = {
  /** Also the title of the browser tab. */
  title: string
  /** Replaces the title in the heading. */
  heading?: ReactNode
  /** One line below the title: what the page is for. */
  lead?: ReactNode
  /** The parent page. */
  back?: { to: NonNullable<LinkProps['to']>; label: string }
  actions?: ReactNode
  /** Its page in the documentation, for example `guides/import`. */
  help?: string
  /** For text and forms. Tables use the full width. */
  isNarrow?: boolean
  children: ReactNode
}

/** The frame of a page: browser title, heading, actions. */
export function Page({ title, heading, lead, back, actions, help, isNarrow, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Zonewatch`
  }, [title])
  return (
    <div className={cx('mx-auto w-full px-4 pt-5 pb-16 sm:px-6 lg:px-8 lg:pt-7', isNarrow ? 'max-w-3xl' : 'max-w-7xl')}>
      {back && (
        <Link
          to={back.to}
          className="-ml-1 mb-2 inline-flex items-center gap-0.5 rounded-sm text-sm text-faint hover:text-ink"
        >
          <ChevronLeft className="size-4" aria-hidden="true" /> {back.label}
        </Link>
      )}
      <header className="mb-5 flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <div className="flex items-center gap-1.5">
            <h1 className="min-w-0 text-xl font-semibold tracking-tight break-words">{heading ?? title}</h1>
            {help && (
              <a href={`/docs/${help}`} title="Documentation" className="rounded-full p-1 text-faint hover:text-ink">
                <CircleHelp className="size-4" aria-hidden="true" />
                <span className="sr-only">Documentation</span>
              </a>
            )}
          </div>
          {lead && <div className="mt-0.5 text-sm text-faint">{lead}</div>}
        </div>
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

type SectionProps = {
  title?: ReactNode
  hint?: ReactNode
  actions?: ReactNode
  isFlush?: boolean
  className?: string
  children: ReactNode
}

/** A card. `isFlush`: without padding, for tables and lists. */
export function Section({ title, hint, actions, isFlush, className, children }: SectionProps) {
  return (
    <section className={cx('rounded-lg border border-line bg-surface', className)}>
      {title !== undefined && (
        <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-3">
          <div className="min-w-0">
            <h2 className="text-sm font-semibold">{title}</h2>
            {hint && <p className="text-xs text-faint">{hint}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
      )}
      <div className={isFlush ? undefined : 'p-4'}>{children}</div>
    </section>
  )
}

/** A list of names and values, as Fact elements. */
export function Facts({ children }: { children: ReactNode }) {
  return <dl className="grid grid-cols-[minmax(7rem,auto)_1fr] gap-x-6 gap-y-2 text-sm">{children}</dl>
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-faint">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </>
  )
}

/** Placeholder lines while data loads, so that the layout does not jump. */
export function Skeleton({ lines = 3, className }: { lines?: number; className?: string }) {
  return (
    <div role="status" aria-label="Loading" className={cx('flex flex-col gap-3', className)}>
      {Array.from({ length: lines }, (_, line) => (
        <div key={line} className="skeleton h-5" style={{ width: `${92 - ((line * 17) % 40)}%` }} />
      ))}
    </div>
  )
}

/** DNS names and values. */
export function Code({ children, className }: { children: ReactNode; className?: string }) {
  return (
    <span className={cx('font-mono text-[0.95em] break-all', className)}>
      {typeof children === 'string' ? visibleLines(children) : children}
    </span>
  )
}
