import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem, api, type Versioned } from '../api.ts'
import { type Fields, isSame, rebase } from './rebase.ts'

/** What is stored, read when a form opens. `path` with its query. */
export const openedQuery = <Resource>(path: string) =>
  queryOptions({
    queryKey: ['edit', path],
    queryFn: ({ signal }) => api.getVersioned<Resource>(path, signal),
    // Each form begins with what is stored when it opens.
    gcTime: 0,
  })

/** Of saving over changes of what the form does not show. */
const MOST_TRIES = 4

type Kind<Resource, Form, Change> = {
  /** With its query; the ETag belongs to both. */
  path: string
  fields: Fields<Form>
  formOf: (resource: Resource) => Form
  /** Only what differs; the API leaves the rest as it is. */
  changeOf: (resource: Resource, form: Form) => Change
}

/** Another person's change of the same resource. `chosen` says which value of a conflict is kept. */
export type Conflict<Form> = {
  base: Form
  theirs: Form
  conflicts: (keyof Form)[]
  taken: (keyof Form)[]
  mine: Form
  chosen: ReadonlyMap<keyof Form, 'mine' | 'theirs'>
}

/**
 * A form over a stored resource: it sends what was changed and nothing else, and only onto the version that it began with.
 * Where somebody else saved a newer one, both values are kept until the person chooses.
 */
export function useEdit<Resource, Form extends object, Change extends object>(
  opened: Versioned<Resource>,
  { path, fields, formOf, changeOf }: Kind<Resource, Form, Change>,
) {
  const queries = useQueryClient()
  const [base, setBase] = useState(opened)
  const [seen, setSeen] = useState(opened)
  const [form, setForm] = useState(() => formOf(opened.value))
  const [conflict, setConflict] = useState<Conflict<Form>>()
  const [problem, setProblem] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const change = changeOf(base.value, form)
  const isChanged = Object.keys(change).length > 0

  const begin = (version: Versioned<Resource>) => {
    setBase(version)
    setForm(formOf(version.value))
    setConflict(undefined)
  }
  // A form that nobody has touched shows what is stored now.
  if (opened !== seen) {
    setSeen(opened)
    if (!isChanged && !conflict) begin(opened)
  }

  const choose = (name: keyof Form, whose: 'mine' | 'theirs') => {
    if (!conflict) return
    setConflict({ ...conflict, chosen: new Map(conflict.chosen).set(name, whose) })
    setForm({ ...form, [name]: (whose === 'mine' ? conflict.mine : conflict.theirs)[name] })
  }
  const set = (part: Partial<Form>) => {
    setForm((now) => ({ ...now, ...part }))
    const edited = conflict?.conflicts.filter((name) => name in part) ?? []
    if (!conflict || edited.length === 0) return
    // Who goes on writing keeps that.
    const chosen = new Map([...conflict.chosen, ...edited.map((name) => [name, 'mine'] as const)])
    setConflict({ ...conflict, mine: { ...conflict.mine, ...part }, chosen })
  }
  const isOpen = conflict?.conflicts.some((name) => !conflict.chosen.has(name)) ?? false

  /** The saved resource; undefined where it was not saved, and the form says why. */
  const save = async (): Promise<Resource | undefined> => {
    if (isOpen) return undefined
    setBusy(true)
    setProblem(undefined)
    try {
      let version = base
      for (let tries = 1; ; tries++) {
        try {
          const saved = await api.patchIfMatch<Resource>(path, changeOf(version.value, form), version.etag)
          begin(saved)
          void queries.invalidateQueries(openedQuery(path))
          return saved.value
        } catch (error) {
          if (!(error instanceof ApiProblem && error.status === 412) || tries === MOST_TRIES) throw error
        }
        const fresh = await api.getVersioned<Resource>(path)
        const [was, theirs] = [formOf(version.value), formOf(fresh.value)]
        version = fresh
        // What this form does not show is not sent either.
        if (Object.keys(fields).every((name) => isSame(fields, name as keyof Form, was, theirs))) continue
        const { form: next, ...both } = rebase(fields, { base: was, mine: form, theirs })
        setBase(fresh)
        setForm(next)
        setConflict({ ...both, base: was, theirs, mine: form, chosen: new Map() })
        return undefined
      }
    } catch (error) {
      setProblem(error)
      return undefined
    } finally {
      setBusy(false)
    }
  }
  return { base: base.value, form, set, change, isChanged, conflict, choose, problem, isBusy, save }
}
