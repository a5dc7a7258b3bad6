import { useState } from 'react'
import type { Acceptance } from '#contract/dashboard.ts'
import { api } from '../api.ts'
import { nameOf, ValueDiff } from '../events/event-change.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Code } from '../ui/page.tsx'
import { useToast } from '../ui/toast.tsx'
import { type MonitorDetails, useRefresh } from './monitor-queries.ts'

/** What is there now becomes what is expected. Only where something is there. */
export function AcceptButton({ monitor }: { monitor: MonitorDetails }) {
  const [isOpen, setOpen] = useState(false)
  const refresh = useRefresh()
  const toast = useToast()
  const { id, current_value, expected_value, record_type } = monitor
  if (!current_value || current_value.length === 0) return null
  const accept = async () => {
    const seen: Acceptance = { current_value }
    await api.post(`/dashboard/api/accept/${encodeURIComponent(id)}`, seen)
    await refresh()
    toast.done('Accepted. Zonewatch is checking the record now.')
  }
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)}>
        Accept current values
      </Button>
      <Confirm
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Accept the current values?"
        confirmLabel="Accept"
        onConfirm={accept}
      >
        <p className="mb-2">
          The expected values of <Code>{nameOf(monitor)}</Code> {record_type} change to:
        </p>
        <div className="rounded-md bg-sunken px-3 py-2 text-left">
          <ValueDiff event={{ previous_value: expected_value, current_value }} />
        </div>
        <p className="mt-2">Zonewatch then checks the monitor at once. You can edit the expected values at any time.</p>
      </Confirm>
    </>
  )
}
