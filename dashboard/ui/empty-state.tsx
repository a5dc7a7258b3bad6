import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

type EmptyStateProps = {
  icon: LucideIcon
  title: string
  /** What this page is for and what to do first. */
  children: ReactNode
  action?: ReactNode
}

/** Shown instead of a list without items. */
export function EmptyState({ icon: Icon, title, children, action }: EmptyStateProps) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-16 text-center">
      <span className="grid size-12 place-items-center rounded-full bg-sunken text-soft">
        <Icon className="size-5" strokeWidth={1.75} aria-hidden="true" />
      </span>
      <h2 className="text-base font-semibold">{title}</h2>
      <div className="text-sm text-soft">{children}</div>
      {action && <div className="mt-2 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  )
}
