import type { MonitorResponse } from '#contract/monitors.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { useToast } from '../ui/toast.tsx'
import { monitorPath, SEEN_FIELDS, useRefresh } from './queries.ts'

/** Enables a disabled monitor and disables an active one. */
export function useToggleActive(): (monitor: MonitorResponse) => Promise<void> {
  const refresh = useRefresh()
  const unchanged = useUnchanged()
  const toast = useToast()
  return async (monitor) => {
    const path = monitorPath(monitor.id)
    const { is_active } = monitor
    try {
      await api.patchIfMatch(path, { is_active: !is_active }, await unchanged(path, monitor, SEEN_FIELDS))
      await refresh()
      toast.done(
        is_active ? 'Disabled. No checks run and no alerts are sent.' : 'Enabled. Zonewatch is checking it now.',
      )
    } catch (problem) {
      toast.failed(problem)
    }
  }
}
