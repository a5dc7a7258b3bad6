import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Group } from '#contract/groups.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupPath, refreshGroups } from './queries.ts'
import { slugOf } from './slug.ts'

type GroupDialogProps = {
  /** Undefined: a new one. */
  group?: Group | undefined
  onClose: () => void
  onSaved?: (group: Group) => void
}

/** Names a group, new or not. The slug follows the name until it is written by hand. */
export function GroupDialog({ group, onClose, onSaved }: GroupDialogProps) {
  const id = useId()
  const queries = useQueryClient()
  const toast = useToast()
  const [name, setName] = useState(group?.name ?? '')
  const [written, setWritten] = useState(group?.slug)
  const [problem, setProblem] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const slug = written ?? (name.trim() === '' ? '' : slugOf(name))
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setProblem(undefined)
    try {
      const given = { name: name.trim(), ...(written === undefined ? {} : { slug: written.trim() }) }
      const saved = group ? await api.patch<Group>(groupPath(group.id), given) : await api.post<Group>('/groups', given)
      void refreshGroups(queries)
      toast.done(group ? `${saved.name} saved.` : `${saved.name} made.`)
      onSaved?.(saved)
      onClose()
    } catch (error) {
      setProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={group ? `Rename ${group.name}` : 'New group'}
      description={group ? undefined : 'Monitors that belong together, and the webhooks that hear of them.'}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={id} isBusy={isBusy}>
            {group ? 'Save' : 'Make group'}
          </Button>
        </>
      }
    >
      <form id={id} onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label="Name" error={fieldError(problem, 'name')}>
          <Input autoFocus value={name} onChange={(event) => setName(event.currentTarget.value)} maxLength={250} />
        </Field>
        <Field
          label="Slug"
          hint={
            group && slug !== group.slug
              ? 'API calls that name the group by its old slug will no longer find it.'
              : 'What API calls name the group by. It follows the name; a number is added where it is taken.'
          }
          error={fieldError(problem, 'slug')}
        >
          <Input
            isCode
            value={slug}
            maxLength={100}
            onChange={({ currentTarget: { value } }) => setWritten(value === '' && !group ? undefined : value)}
          />
        </Field>
        {problem !== undefined && <ProblemNote problem={problem} fields={['name', 'slug']} />}
      </form>
    </Dialog>
  )
}
