import { useQuery } from '@tanstack/react-query'
import { Users } from 'lucide-react'
import { Fragment, type ReactNode, useState } from 'react'
import { ApiProblem, type Versioned } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ProblemNote, ProblemPage } from '../ui/problem.tsx'
import { openedQuery } from './use-edit.ts'

/** A resource as its form opened it. `reload` replaces the form by one with the version that someone else saved. */
export type Stored<Resource> = Versioned<Resource> & { reload: () => void }

type StoredFormProps<Resource> = {
  path: string
  title: string
  onClose: () => void
  /** A form that is saved as a whole, with If-Match. */
  children: (stored: Stored<Resource>) => ReactNode
}

/** Loads a resource with its version, and keeps that version while the form is open. */
export function StoredForm<Resource>({ path, title, onClose, children }: StoredFormProps<Resource>) {
  const { data, error, refetch } = useQuery(openedQuery<Resource>(path))
  const [opened, setOpened] = useState<Versioned<Resource>>()
  if (data && !opened) setOpened(data)
  const reload = async () => {
    const { data: newest } = await refetch()
    if (newest) setOpened(newest)
  }
  if (opened) return <Fragment key={opened.etag}>{children({ ...opened, reload })}</Fragment>
  if (!error) return null
  return (
    <Dialog isOpen onClose={onClose} title={title}>
      <ProblemPage problem={error} onRetry={() => void refetch()} />
    </Dialog>
  )
}

type SaveProblemProps = {
  problem: unknown
  fields: readonly string[]
  stored: { reload: () => void } | undefined
  onOverwrite: () => void
}

/** Why a form was not saved. If someone else saved meanwhile, the user reloads or overwrites. */
export function SaveProblem({ problem, fields, stored, onOverwrite }: SaveProblemProps) {
  if (!stored || !(problem instanceof ApiProblem && problem.status === 412))
    return <ProblemNote problem={problem} fields={fields} />
  return (
    <section ref={reveal} role="alert" className="flex flex-col gap-3 rounded-md bg-warn-wash px-3 py-2.5 text-sm">
      <p className="flex gap-2.5 text-warn">
        <Users className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
        <span>
          Not saved: someone else changed this while you were editing. Reload shows their version and discards yours.
          Overwrite saves yours.
        </span>
      </p>
      <div className="flex gap-2">
        <Button size="sm" onClick={stored.reload}>
          Reload
        </Button>
        <Button size="sm" onClick={onOverwrite}>
          Overwrite
        </Button>
      </div>
    </section>
  )
}

/** At the end of a long form it would not be seen. */
const reveal = (element: HTMLElement | null): void => element?.scrollIntoView({ block: 'nearest' })

/** The If-Match of a save: the opened version, or any. */
export const ifMatchOf = ({ etag }: { etag: string }, overwrites: boolean): string => (overwrites ? '*' : etag)
