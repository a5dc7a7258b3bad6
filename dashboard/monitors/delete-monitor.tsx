import { useQueryClient } from '@tanstack/react-query'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Code } from '../ui/page.tsx'
import { useToast } from '../ui/toast.tsx'
import { monitorPath, monitorQuery, SEEN_FIELDS, useRefresh } from './queries.ts'

type DeleteProps = { monitor: MonitorResponse; onDeleted?: () => Promise<void>; onClose: () => void }

export function DeleteMonitor({ monitor, onDeleted, onClose }: DeleteProps) {
  const queries = useQueryClient()
  const refresh = useRefresh()
  const toast = useToast()
  const unchanged = useUnchanged()
  const remove = async () => {
    const path = monitorPath(monitor.id)
    await api.deleteIfMatch(path, await unchanged(path, monitor, SEEN_FIELDS))
    await onDeleted?.()
    queries.removeQueries({ queryKey: monitorQuery(monitor.id).queryKey })
    void refresh()
    toast.done(`Deleted ${recordName(monitor)} ${monitor.record_type}.`)
  }
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title="Delete this monitor?"
      confirmLabel="Delete monitor"
      isDangerous
      onConfirm={remove}
    >
      <Code>{recordName(monitor)}</Code> {monitor.record_type} will be deleted with its history. Webhook requests that
      already exist are still delivered. You cannot undo this; to stop checks only, disable the monitor.
    </Confirm>
  )
}
