import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ImportPlan, ImportUpdated } from '#contract/dashboard.ts'
import type { Monitor } from '#contract/monitors.ts'
import { api } from '../api.ts'
import { type ImportInput, placedRows, requestOf } from './import-input.ts'
import { type Placed, type Run, runImport } from './import-run.ts'
import { bodyOf, type WatchSettings, withGroupMade } from './new-settings.ts'

export type Plan = { input: ImportInput; rows: Placed[]; gone: ImportPlan['gone'] }

/** Stands for a group that is still to be made: no monitor is in it. */
const TO_COME = 'a-group-that-is-still-to-be-made'

/** The dry run. */
export function usePlan() {
  const [plan, setPlan] = useState<Plan>()
  const [isPlanning, setPlanning] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const make = async (input: ImportInput, { group, newGroup }: WatchSettings) => {
    const target = newGroup === undefined ? group : TO_COME
    setPlanning(true)
    setProblem(undefined)
    try {
      const answer = await api.post<ImportPlan>('/dashboard/api/import', requestOf(input, target))
      setPlan({ input, rows: placedRows(answer, target), gone: answer.gone })
    } catch (error) {
      setProblem(error)
    } finally {
      setPlanning(false)
    }
  }
  return { plan, isPlanning, problem, make, forget: () => setPlan(undefined) }
}

const sleep = (seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000))

/** The making. `group`: the slug of where the monitors went. */
export function useRun() {
  const [run, setRun] = useState<Run>()
  const [phase, setPhase] = useState<'before' | 'running' | 'over'>('before')
  const [group, setGroup] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const queries = useQueryClient()
  const start = async (rows: readonly Placed[], settings: WatchSettings, settle: (made: WatchSettings) => void) => {
    setPhase('running')
    setProblem(undefined)
    try {
      const ready = await withGroupMade(settings)
      if (ready !== settings) settle(ready)
      setGroup(ready.group)
      await runImport(rows, bodyOf(ready), {
        post: async (body) => (await api.post<Monitor[]>('/monitors/bulk', body)).length,
        update: (body) => api.post<ImportUpdated>('/dashboard/api/import/updates', body),
        sleep,
        onProgress: setRun,
      })
      setPhase('over')
    } catch (error) {
      setProblem(error)
      setPhase('before')
    } finally {
      for (const list of ['monitors', 'events', 'groups', 'overview'])
        void queries.invalidateQueries({ queryKey: [list] })
    }
  }
  return { run, isRunning: phase === 'running', isOver: phase === 'over', group, problem, start }
}
