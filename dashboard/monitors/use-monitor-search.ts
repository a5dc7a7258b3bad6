import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api, type Page } from '../api.ts'
import { useSession } from '../session.tsx'

const TYPING_MS = 150
const MOST_FOUND = 8

/** Monitors whose names, values or labels hold what is typed. */
export function useMonitorSearch(typed: string): { found: MonitorResponse[]; isSearching: boolean } {
  const [asked, setAsked] = useState(typed)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(typed), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  const { organization } = useSession()
  const { data, isFetching } = useQuery({
    queryKey: ['monitors', 'palette', organization.id, asked],
    queryFn: ({ signal }) =>
      api.get<Page<MonitorResponse>>('/monitors', { search: asked, limit: MOST_FOUND, order_by: 'domain' }, signal),
    enabled: asked !== '',
    placeholderData: keepPreviousData,
  })
  const found = typed === '' || asked === '' ? [] : (data?.data ?? [])
  return { found, isSearching: typed !== '' && (isFetching || asked !== typed) }
}
