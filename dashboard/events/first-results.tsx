import { Link } from '@tanstack/react-router'
import { CircleDashed } from 'lucide-react'
import type { Overview } from '#contract/dashboard.ts'
import { plural } from '#contract/wording.ts'
import { Time } from '../ui/time.tsx'

const MAX_COUNTED = 10_000

/** The number of first results of the last 24 hours. */
export function FirstResults({ results: { count, to } }: { results: NonNullable<Overview['first_results']> }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2.5 text-sm text-soft">
      <CircleDashed className="size-4 shrink-0 text-idle" strokeWidth={2.25} aria-hidden="true" />
      <span className="min-w-0 flex-1">
        {countText(count)} The most recent: <Time at={to} />.
      </span>
      <Link
        to="/events"
        search={{ old: 'UNSET' }}
        className="rounded-sm text-xs text-accent-ink underline-offset-2 hover:underline"
      >
        Show first results
      </Link>
    </p>
  )
}

function countText(count: number): string {
  if (count >= MAX_COUNTED) return `${MAX_COUNTED.toLocaleString('en')} or more first results in the last 24 hours.`
  return plural(
    count,
    '1 first result in the last 24 hours.',
    (number) => `${number} first results in the last 24 hours.`,
  )
}
