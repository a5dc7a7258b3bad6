import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ImportPlan, ImportUpdated } from '#contract/dashboard.ts'
import type { Monitor } from '#contract/monitors.ts'
import { api } from '../../api.ts'
import { bodyOf, createNewGroup, type MonitorSettings } from '../settings.ts'
import { type ImportInput, importRequest, indexedRows } from './input.ts'
import { type IndexedRow, type Run, runImport } from './run.ts'

export type Plan = { input: ImportInput; rows: IndexedRow[]; missing: ImportPlan['missing'] }

/** The slug of a group that does not exist yet, so that no monitor is in it. */
const NEW_GROUP = 'a-group-that-is-still-to-be-created'

/** The dry run, which returns a plan. */
export function usePlan() {
  const [plan, setPlan] = useState<Plan>()
  const [isPlanning, setPlanning] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const make = async (input: ImportInput, { group, newGroup }: MonitorSettings) => {
    const target = newGroup === undefined ? group : NEW_GROUP
    setPlanning(true)
    setProblem(undefined)
    try {
      const response = await api.post<ImportPlan>('/dashboard/api/import', importRequest(input, target))
      setPlan({ input, rows: indexedRows(response, target), missing: response.missing })
    } catch (error) {
      setProblem(error)
    } finally {
      setPlanning(false)
    }
  }
  return { plan, isPlanning, problem, make, forget: () => setPlan(undefined) }
}

const wait = (seconds: number) => new Promise<void>((resolve) => setTimeout(resolve, seconds * 1000))

/** Runs the import. `group` is the slug of the group of the monitors. */
export function useRun() {
  const [run, setRun] = useState<Run>()
  const [phase, setPhase] = useState<'before' | 'running' | 'over'>('before')
  const [group, setGroup] = useState('')
  const [problem, setProblem] = useState<unknown>()
  const queries = useQueryClient()
  const start = async (
    rows: readonly IndexedRow[],
    settings: MonitorSettings,
    onGroupCreated: (created: MonitorSettings) => void,
  ) => {
    setPhase('running')
    setProblem(undefined)
    try {
      const ready = await createNewGroup(settings)
      if (ready !== settings) onGroupCreated(ready)
      setGroup(ready.group)
      await runImport(rows, bodyOf(ready), {
        post: async (body) => (await api.post<Monitor[]>('/monitors/bulk', body)).length,
        update: (body) => api.post<ImportUpdated>('/dashboard/api/import/updates', body),
        wait,
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
