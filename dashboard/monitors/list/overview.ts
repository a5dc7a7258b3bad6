import { useQuery } from '@tanstack/react-query'
import type { Overview } from '#contract/dashboard.ts'
import type { MonitorCounts } from '#contract/monitor-list.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { api } from '../../api.ts'
import { STATES } from '../../ui/state.tsx'
import { failingText } from '../failing.tsx'
import { type ListSearch, otherFilters } from './query.ts'

/** Counts of all monitors by state. The overview page shares the request. */
export function useOverview(): Overview | undefined {
  return useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.get<Overview>('/dashboard/api/overview', {}, signal),
  }).data
}

/** The number of monitors in each state that match the other filters. Without such filters the overview has them. */
export function useCounts(overview: Overview | undefined, search: ListSearch): MonitorCounts | undefined {
  const filters = otherFilters(search)
  const hasFilters = Object.values(filters).some((value) => value !== undefined)
  const { data } = useQuery({
    queryKey: ['monitors', 'counts', filters],
    enabled: hasFilters,
    queryFn: ({ signal }) => api.get<MonitorCounts>('/monitors/counts', filters, signal),
  })
  return hasFilters ? data : overview && { ...overview, is_partial: false }
}

/** The states to filter by. Of a partial count, those of which none was counted may have monitors too. */
export const shownStates = (counts: MonitorCounts | undefined, selected: readonly string[]): MonitorState[] =>
  STATES.filter((state) => counts?.is_partial || selected.includes(state) || (counts?.states[state] ?? 0) > 0)

/** `isPartial`: the count is a lower bound, and 0 says nothing. */
export function countText(count: number, isPartial: boolean): string {
  if (!isPartial) return count.toLocaleString()
  return count > 0 ? `${count.toLocaleString()}+` : ''
}

/** One sentence about the state of all monitors. Unchecked ones count neither as valid nor as failing. */
export function summaryText({
  active,
  disabled,
  states,
  failing,
}: Pick<Overview, 'active' | 'disabled' | 'states' | 'failing'>): string {
  const unchecked = states.UNSET ?? 0
  if (active + disabled === 0) return 'Your expected records and their current state.'
  if (active === 0) return 'All monitors are disabled.'
  if (failing.monitors > 0) return failingText(failing, active)
  if (unchecked === active) return 'No monitor has a result yet.'
  if (unchecked === 1) {
    return `1 of ${active.toLocaleString()} active monitors has no result yet; the others are valid.`
  }
  if (unchecked > 1) {
    return `${unchecked.toLocaleString()} of ${active.toLocaleString()} active monitors have no result yet; the others are valid.`
  }
  return 'All active monitors are valid.'
}
