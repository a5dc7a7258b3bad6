import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Page } from '../api.ts'
import { Button } from './button.tsx'
import { cx } from './class.ts'

/** A plain table with the house's lines; scrolls sideways where the screen is narrow. */
export function Table({ label, head, children }: { label: string; head: ReactNode; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="relative overflow-x-auto" tabIndex={0} aria-label={label}>
      <table className="w-full border-collapse text-left text-sm">
        <thead className="border-b border-line text-xs text-faint">
          <tr>{head}</tr>
        </thead>
        <tbody className="divide-y divide-line">{children}</tbody>
      </table>
    </section>
  )
}

type HeadProps = {
  children?: ReactNode
  /** For columns that say nothing to the eye (buttons). */
  hidden?: string
  className?: string
  /** In pixels, in a table with fixed columns. */
  width?: number | undefined
  /** Undefined: the column cannot be sorted by. */
  sort?: { way: 'asc' | 'desc' | undefined; onSort: () => void }
}

export function Head({ children, hidden, className, width, sort }: HeadProps) {
  const Arrow = sort?.way === 'desc' ? ArrowDown : ArrowUp
  return (
    <th
      scope="col"
      aria-sort={sort?.way ? (sort.way === 'asc' ? 'ascending' : 'descending') : undefined}
      style={width === undefined ? undefined : { width }}
      className={cx('h-9 px-4 font-medium whitespace-nowrap', className)}
    >
      {hidden && <span className="sr-only">{hidden}</span>}
      {sort ? (
        <button
          type="button"
          onClick={sort.onSort}
          className="group -mx-1 inline-flex items-center gap-1 rounded-sm px-1 hover:text-ink"
        >
          {children}
          <Arrow className={cx('size-3', !sort.way && 'opacity-0 group-hover:opacity-60')} aria-hidden="true" />
        </button>
      ) : (
        children
      )}
    </th>
  )
}

type CellProps = { children?: ReactNode; className?: string; colSpan?: number }

export const Cell = ({ children, className, colSpan }: CellProps) => (
  <td colSpan={colSpan} className={cx('px-4 py-2.5 align-middle', className)}>
    {children}
  </td>
)

/** Forwards and backwards through a list of the API. */
export function Pager({
  page,
  onAfter,
  onBefore,
}: {
  page: Page<unknown> | undefined
  onAfter: (cursor: string) => void
  onBefore: (cursor: string) => void
}) {
  if (!page || (page.before === null && page.after === null)) return null
  return (
    <nav aria-label="Pages" className="flex justify-end gap-2 border-t border-line px-4 py-2.5">
      <Button size="sm" disabled={page.before === null} onClick={() => page.before && onBefore(page.before)}>
        <ChevronLeft /> Previous
      </Button>
      <Button size="sm" disabled={page.after === null} onClick={() => page.after && onAfter(page.after)}>
        Next <ChevronRight />
      </Button>
    </nav>
  )
}
