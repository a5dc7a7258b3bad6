import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useId, useState } from 'react'
import type { Group, GroupChange } from '#contract/groups.ts'
import { api, type Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import type { Fields } from '../edit/rebase.ts'
import { useEdit } from '../edit/use-edit.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupPath, refreshGroups } from './queries.ts'
import { slugOf } from './slug.ts'

type GroupDialogProps = {
  /** Without it, the dialog creates a group. */
  group?: Group | undefined
  onClose: () => void
  onSaved?: (group: Group) => void
}

/** Creates or renames a group. */
export function GroupDialog({ group, onClose, onSaved }: GroupDialogProps) {
  const id = useId()
  const queries = useQueryClient()
  const toast = useToast()
  const [isBusy, setBusy] = useState(false)
  const onDone = (saved: Group) => {
    void refreshGroups(queries)
    toast.done(group ? `${saved.name} saved.` : `${saved.name} created.`)
    onSaved?.(saved)
    onClose()
  }
  const form = { id, onBusy: setBusy, onDone }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={group ? `Rename ${group.name}` : 'New group'}
      description={group ? undefined : 'A set of monitors and the webhooks that receive their events.'}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={id} isBusy={isBusy}>
            {group ? 'Save' : 'Create group'}
          </Button>
        </>
      }
    >
      {group ? (
        <LoadResource<Group> path={groupPath(group.id)}>
          {(opened) => <Rename {...form} opened={opened} />}
        </LoadResource>
      ) : (
        <Create {...form} />
      )}
    </Dialog>
  )
}

type FormProps = { id: string; onBusy: (isBusy: boolean) => void; onDone: (saved: Group) => void }

type Names = { name: string; slug: string }
const FIELDS: Fields<Names> = {
  name: { label: 'Name', text: (name) => name },
  slug: { label: 'Slug', text: (slug) => slug },
}
const formOf = ({ name, slug }: Group): Names => ({ name, slug })
const changeOf = (group: Group, { name, slug }: Names): GroupChange => ({
  ...(name.trim() === group.name ? {} : { name: name.trim() }),
  ...(slug.trim() === group.slug ? {} : { slug: slug.trim() }),
})

function Rename({ id, onBusy, onDone, opened }: FormProps & { opened: Versioned<Group> }) {
  const edit = useEdit(opened, { path: groupPath(opened.value.id), fields: FIELDS, formOf, changeOf })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!edit.isChanged) return onDone(edit.base)
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (saved) onDone(saved)
  }
  return (
    <NameFields
      {...edit.form}
      id={id}
      onSubmit={submit}
      problem={edit.problem}
      slugHint={
        edit.form.slug === edit.base.slug
          ? 'API calls identify the group by its slug or id.'
          : 'API calls that use the old slug will return 404.'
      }
      onName={(name) => edit.set({ name })}
      onSlug={(slug) => edit.set({ slug })}
    >
      <ConflictNote {...edit} fields={FIELDS} />
    </NameFields>
  )
}

/** The slug is derived from the name until the user types one. */
function Create({ id, onBusy, onDone }: FormProps) {
  const [name, setName] = useState('')
  const [typedSlug, setTypedSlug] = useState<string>()
  const [problem, setProblem] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    onBusy(true)
    setProblem(undefined)
    try {
      const slug = typedSlug === undefined ? {} : { slug: typedSlug.trim() }
      onDone(await api.post<Group>('/groups', { name: name.trim(), ...slug }))
    } catch (error) {
      setProblem(error)
    } finally {
      onBusy(false)
    }
  }
  return (
    <NameFields
      id={id}
      name={name}
      slug={typedSlug ?? (name.trim() === '' ? '' : slugOf(name))}
      onSubmit={submit}
      problem={problem}
      slugHint="API calls identify the group by its slug. Derived from the name unless you change it."
      onName={setName}
      onSlug={(slug) => setTypedSlug(slug === '' ? undefined : slug)}
    />
  )
}

type NameFieldsProps = Names & {
  id: string
  onSubmit: (event: FormEvent) => void
  problem: unknown
  slugHint: string
  onName: (name: string) => void
  onSlug: (slug: string) => void
  children?: ReactNode
}

function NameFields({ id, name, slug, onSubmit, problem, slugHint, onName, onSlug, children }: NameFieldsProps) {
  return (
    <form id={id} onSubmit={onSubmit} noValidate className="flex flex-col gap-4">
      {children}
      <Field label="Name" error={fieldError(problem, 'name')}>
        <Input autoFocus value={name} onChange={(event) => onName(event.currentTarget.value)} maxLength={250} />
      </Field>
      <Field label="Slug" hint={slugHint} error={fieldError(problem, 'slug')}>
        <Input isCode value={slug} maxLength={100} onChange={(event) => onSlug(event.currentTarget.value)} />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={['name', 'slug']} />}
    </form>
  )
}
