import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../../api.ts'
import { useToast } from '../../ui/toast.tsx'
import { type MonitorDetails, monitorPath, monitorQuery } from '../queries.ts'

/** `done`: the requested check has ended. `slow`: it takes longer than usual. */
export type Checking = { phase: 'idle' | 'checking' | 'done' | 'slow'; start: () => void }

/** Longer than any check takes to confirm a result. */
const SLOW_MS = 50_000
const DONE_MS = 8_000
/** The stream of changes has no checks without a change, so they are polled. */
const IDLE_POLL_MS = 10_000

/** A check that the user started. The monitor is polled every second until its result. */
export function useChecking(monitor: MonitorDetails | undefined): Checking {
  const toast = useToast()
  const [request, setRequest] = useState<{ before: string | null; isSlow?: boolean }>()
  const isFinished = request !== undefined && monitor !== undefined && monitor.last_checked !== request.before
  const isFirst = monitor?.state === 'UNSET' && monitor.is_active
  const isRunning = isFirst || (request !== undefined && !isFinished)
  useQuery({
    ...monitorQuery(monitor?.id ?? ''),
    enabled: monitor !== undefined,
    refetchInterval: isRunning ? (request?.isSlow ? 5_000 : 1_000) : IDLE_POLL_MS,
  })

  useEffect(() => {
    if (request === undefined || request.isSlow) return
    const timer = isFinished
      ? setTimeout(() => setRequest(undefined), DONE_MS)
      : setTimeout(() => setRequest({ ...request, isSlow: true }), SLOW_MS)
    return () => clearTimeout(timer)
  }, [request, isFinished])

  const start = async () => {
    if (!monitor) return
    setRequest({ before: monitor.last_checked })
    try {
      await api.post(`${monitorPath(monitor.id)}/check`)
    } catch (problem) {
      setRequest(undefined)
      toast.failed(problem)
    }
  }
  const phase = request?.isSlow && !isFinished ? 'slow' : isRunning ? 'checking' : isFinished ? 'done' : 'idle'
  return { phase, start: () => void start() }
}
