import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { monitorsText } from '#contract/wording.ts'
import { ApiProblem, api, getRateLimit } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { useToast } from '../ui/toast.tsx'
import { type Progress, runEach } from './bulk-run.ts'
import { SEEN_FIELDS } from './monitor-queries.ts'

/** An action on many monitors. `doing` and `done` are parts of messages: "Disabling 3 monitors", "3 monitors disabled". */
export type Action = {
  doing: string
  done: string
  /** `seen`: the ETag of the version that the user sees. Throws if there is another one. */
  on: (id: string, seen: () => Promise<string>) => Promise<unknown>
}

const patch = (change: object) => async (id: string, seen: () => Promise<string>) =>
  api.patchIfMatch(`/monitors/${id}`, change, await seen())

export const ACTIONS = {
  check: { doing: 'Checking', done: 'queued for a check', on: (id) => api.post(`/monitors/${id}/check`) },
  enable: { doing: 'Enabling', done: 'enabled', on: patch({ is_active: true }) },
  disable: { doing: 'Disabling', done: 'disabled', on: patch({ is_active: false }) },
  delete: {
    doing: 'Deleting',
    done: 'deleted',
    on: (id, seen) =>
      seen()
        .then((ifMatch) => api.deleteIfMatch(`/monitors/${id}`, ifMatch))
        .catch(ignoreNotFound),
  },
} satisfies Record<string, Action>

export const moveTo = (group: string, name: string): Action => ({
  doing: 'Moving',
  done: `moved to ${name}`,
  on: patch({ group }),
})
export const checkEvery = (frequency: number): Action => ({
  doing: 'Changing the check interval of',
  done: `set to ${frequency} minutes`,
  on: patch({ frequency }),
})

/** Deleted already by someone else is fine. */
function ignoreNotFound(problem: unknown): void {
  if (!(problem instanceof ApiProblem && problem.status === 404)) throw problem
}

export type Run = { act: Action; total: number; progress: Progress<MonitorResponse>; isEnded: boolean }

/** Ids of deleted monitors, and of failed ones if there were several. */
export type RunResult = { deleted: readonly string[]; failed: readonly string[] }

/** Runs one action at a time. Leaving the page ends it. */
export function useRun(onDone: (ended: RunResult) => void) {
  const queries = useQueryClient()
  const toast = useToast()
  const unchanged = useUnchanged()
  const [run, setRun] = useState<Run>()
  const controller = useRef<AbortController>(undefined)
  useEffect(() => () => controller.current?.abort(), [])
  const begin = async (act: Action, monitors: readonly MonitorResponse[]) => {
    const stop = new AbortController()
    controller.current = stop
    const total = monitors.length
    const show = (progress: Progress<MonitorResponse>, isEnded: boolean) => setRun({ act, total, progress, isEnded })
    show({ done: 0, failures: [] }, false)
    const progress = await runEach(monitors, {
      act: (monitor) => act.on(monitor.id, () => unchanged(`/monitors/${monitor.id}`, monitor, SEEN_FIELDS)),
      onProgress: (now) => show(now, false),
      signal: stop.signal,
      wait: (ms) => pause(ms, stop.signal),
      window: getRateLimit,
    })
    for (const list of ['monitors', 'groups', 'overview']) void queries.invalidateQueries({ queryKey: [list] })
    const { done, failures } = progress
    const fitsInToast = failures.length === 0 || (total === 1 && failures.length === 1)
    if (fitsInToast) {
      setRun(undefined)
      if (failures[0]) toast.failed(failures[0].problem)
      else
        toast.done(done === total ? `${monitorsText(done)} ${act.done}.` : `Stopped: ${done} of ${total} ${act.done}.`)
    } else show(progress, true)
    const failed = failures.map(({ item }) => item.id)
    onDone({ deleted: act === ACTIONS.delete ? monitors.map(({ id }) => id) : [], failed: total > 1 ? failed : [] })
  }
  return {
    run,
    begin: useLatestCallback(begin),
    stop: useCallback(() => controller.current?.abort(), []),
    dismiss: useCallback(() => setRun(undefined), []),
  }
}

/** A stable function that calls the latest one. */
function useLatestCallback<A extends unknown[], R>(latest: (...args: A) => R): (...args: A) => R {
  const ref = useRef(latest)
  useEffect(() => {
    ref.current = latest
  })
  return useCallback((...args: A) => ref.current(...args), [])
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
