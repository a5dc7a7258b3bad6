import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api, type Page } from '../api.ts'
import { useSession } from '../session.tsx'
import { useDebounced } from '../ui/use-debounced.ts'

const DEBOUNCE_MS = 150
const MAX_RESULTS = 8

/** Monitors with the text in their names, values or labels. */
export function useMonitorSearch(text: string): { found: MonitorResponse[]; isSearching: boolean } {
  const search = useDebounced(text, DEBOUNCE_MS)
  const { organization } = useSession()
  const { data, isFetching } = useQuery({
    queryKey: ['monitors', 'palette', organization.id, search],
    queryFn: ({ signal }) =>
      api.get<Page<MonitorResponse>>('/monitors', { search, limit: MAX_RESULTS, order_by: 'domain' }, signal),
    enabled: search !== '',
    placeholderData: keepPreviousData,
  })
  const found = text === '' || search === '' ? [] : (data?.data ?? [])
  return { found, isSearching: text !== '' && (isFetching || search !== text) }
}
