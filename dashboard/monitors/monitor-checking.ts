import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api } from '../api.ts'
import { useToast } from '../ui/toast.tsx'
import { type MonitorDetails, monitorPath, monitorQuery } from './monitor-queries.ts'

/** `done`: the requested check has ended. `slow`: it takes longer than checks usually do. */
export type Checking = { phase: 'idle' | 'checking' | 'done' | 'slow'; start: () => void }

/** The longest that a verdict takes, and some. */
const SLOW_MS = 50_000
const DONE_MS = 8_000
/** The stream of changes tells of events only; that another check ended is asked for. */
const QUIET_MS = 30_000

/** A check that a person started, from the click to its result. Meanwhile the monitor is polled often. */
export function useChecking(monitor: MonitorDetails | undefined): Checking {
  const toast = useToast()
  const [asked, setAsked] = useState<{ before: string | null; isSlow?: boolean }>()
  const isPassed = asked !== undefined && monitor !== undefined && monitor.last_checked !== asked.before
  const isFirst = monitor?.state === 'UNSET' && monitor.is_active
  const isUnderWay = isFirst || (asked !== undefined && !isPassed)
  useQuery({
    ...monitorQuery(monitor?.id ?? ''),
    enabled: monitor !== undefined,
    refetchInterval: isUnderWay ? (asked?.isSlow ? 5_000 : 1_000) : QUIET_MS,
  })

  useEffect(() => {
    if (asked === undefined || asked.isSlow) return
    const timer = isPassed
      ? setTimeout(() => setAsked(undefined), DONE_MS)
      : setTimeout(() => setAsked({ ...asked, isSlow: true }), SLOW_MS)
    return () => clearTimeout(timer)
  }, [asked, isPassed])

  const start = async () => {
    if (!monitor) return
    setAsked({ before: monitor.last_checked })
    try {
      await api.post(`${monitorPath(monitor.id)}/check`)
    } catch (problem) {
      setAsked(undefined)
      toast.failed(problem)
    }
  }
  const phase = asked?.isSlow && !isPassed ? 'slow' : isUnderWay ? 'checking' : isPassed ? 'done' : 'idle'
  return { phase, start: () => void start() }
}
