import { queryOptions, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiProblem, api, type Versioned } from '../api.ts'
import { changedPart, type Fields, isSame, rebase } from './rebase.ts'

/** The stored resource with its ETag. `path` includes the query. */
export const openedQuery = <Resource>(path: string) =>
  queryOptions({
    queryKey: ['edit', path],
    queryFn: ({ signal }) => api.getVersioned<Resource>(path, signal),
    // Each form loads the resource when it opens.
    gcTime: 0,
  })

/** Attempts to save over changes of fields that the form does not show. */
const MAX_ATTEMPTS = 4

export type EditOptions<Resource, Form, Change> = {
  /** Includes the query, because the ETag depends on it. */
  path: string
  fields: Fields<Form, Change>
  formOf: (resource: Resource) => Form
}

/** A change of the same resource by another user. `chosen` has the selected value of each conflict. */
export type Conflict<Form> = {
  base: Form
  theirs: Form
  conflicts: (keyof Form)[]
  taken: (keyof Form)[]
  mine: Form
  chosen: ReadonlyMap<keyof Form, 'mine' | 'theirs'>
}

export type Edit<Resource, Form extends object, Change extends object> = ReturnType<
  typeof useEdit<Resource, Form, Change>
>

/**
 * A form for a stored resource. It sends only changed fields, with If-Match. If someone else saved a newer version, it keeps both
 * values until the user chooses.
 */
export function useEdit<Resource, Form extends object, Change extends object>(
  opened: Versioned<Resource>,
  { path, fields, formOf }: EditOptions<Resource, Form, Change>,
) {
  const queries = useQueryClient()
  const [base, setBase] = useState(opened)
  const [lastOpened, setLastOpened] = useState(opened)
  const [form, setForm] = useState(() => formOf(opened.value))
  const [conflict, setConflict] = useState<Conflict<Form>>()
  const [problem, setProblem] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const change = changedPart(fields, formOf(base.value), form)
  const isChanged = Object.keys(change).length > 0

  const reset = (version: Versioned<Resource>) => {
    setBase(version)
    setForm(formOf(version.value))
    setConflict(undefined)
  }
  // An unchanged form shows the newest version.
  if (opened !== lastOpened) {
    setLastOpened(opened)
    if (!isChanged && !conflict) reset(opened)
  }

  const choose = (name: keyof Form, choice: 'mine' | 'theirs') => {
    if (!conflict) return
    setConflict({ ...conflict, chosen: new Map(conflict.chosen).set(name, choice) })
    setForm({ ...form, [name]: (choice === 'mine' ? conflict.mine : conflict.theirs)[name] })
  }
  const set = (part: Partial<Form>) => {
    setForm((now) => ({ ...now, ...part }))
    const edited = conflict?.conflicts.filter((name) => name in part) ?? []
    if (!conflict || edited.length === 0) return
    // Typing chooses the value of this user.
    const chosen = new Map([...conflict.chosen, ...edited.map((name) => [name, 'mine'] as const)])
    setConflict({ ...conflict, mine: { ...conflict.mine, ...part }, chosen })
  }
  const isUnresolved = conflict?.conflicts.some((name) => !conflict.chosen.has(name)) ?? false

  /** The saved resource; undefined if it was not saved, and the form shows why. */
  const save = async (): Promise<Resource | undefined> => {
    if (isUnresolved) return undefined
    setBusy(true)
    setProblem(undefined)
    try {
      let version = base
      for (let attempt = 1; ; attempt++) {
        try {
          const part = changedPart(fields, formOf(version.value), form)
          const saved = await api.patchIfMatch<Resource>(path, part, version.etag)
          reset(saved)
          void queries.invalidateQueries(openedQuery(path))
          return saved.value
        } catch (error) {
          if (!(error instanceof ApiProblem && error.status === 412) || attempt === MAX_ATTEMPTS) throw error
        }
        const fresh = await api.getVersioned<Resource>(path)
        const [before, theirs] = [formOf(version.value), formOf(fresh.value)]
        version = fresh
        // Only fields that this form does not show have changed.
        if (Object.keys(fields).every((name) => isSame(fields, name as keyof Form, before, theirs))) continue
        const { form: next, ...both } = rebase(fields, { base: before, mine: form, theirs })
        setBase(fresh)
        setForm(next)
        setConflict({ ...both, base: before, theirs, mine: form, chosen: new Map() })
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
