import { type RefObject, useEffect, useRef } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'

/** The changes of a monitor that are highlighted; a further check is none. */
const newsOf = ({ state, current_value, expected_value, is_active, incidence_count }: MonitorResponse): string =>
  JSON.stringify([state, current_value, expected_value, is_active, incidence_count])

/** A row whose monitor changed while it is on the screen is washed with colour for a moment. */
export function useFlash(row: RefObject<HTMLElement | null>, monitor: MonitorResponse): void {
  const news = newsOf(monitor)
  const before = useRef(news)
  useEffect(() => {
    if (before.current === news) return
    before.current = news
    row.current?.animate([{ backgroundColor: 'var(--accent-wash)' }, { backgroundColor: 'transparent' }], {
      duration: 2_000,
      easing: 'ease-in',
    })
  }, [news, row])
}
