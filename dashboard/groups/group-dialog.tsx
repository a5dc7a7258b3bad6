import { useQueryClient } from '@tanstack/react-query'
import type { Group, GroupChange } from '#contract/groups.ts'
import { api } from '../api.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { type FormState, NewDialog } from '../edit/new-dialog.tsx'
import type { Fields } from '../edit/rebase.ts'
import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupPath, refreshGroups } from './queries.ts'
import { slugOf } from './slug.ts'

type GroupDialogProps = {
  /** Without it, the dialog creates a group. */
  group?: Group | undefined
  onClose: () => void
  onSaved?: (group: Group) => void
}

type Names = { name: string; slug: string }
const FIELDS: Fields<Names, GroupChange> = {
  name: {
    label: 'Name',
    text: (name) => name,
    same: (one, other) => one.trim() === other.trim(),
    change: ({ name }) => ({ name: name.trim() }),
  },
  slug: {
    label: 'Slug',
    text: (slug) => slug,
    same: (one, other) => one.trim() === other.trim(),
    change: ({ slug }) => ({ slug: slug.trim() }),
  },
}

/** Creates or renames a group. */
export function GroupDialog({ group, onClose, onSaved }: GroupDialogProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const onDone = (saved: Group) => {
    void refreshGroups(queries)
    toast.done(group ? `${saved.name} saved.` : `${saved.name} created.`)
    onSaved?.(saved)
  }
  if (!group)
    return (
      <NewDialog<Names, Group>
        title="New group"
        description="A set of monitors and the webhooks that receive their events."
        submitLabel="Create group"
        paths={Object.keys(FIELDS)}
        initial={{ name: '', slug: '' }}
        create={({ name, slug }) =>
          api.post('/groups', { name: name.trim(), ...(slug === '' ? {} : { slug: slug.trim() }) })
        }
        onCreated={onDone}
        onClose={onClose}
      >
        {(state) => (
          <NameFields
            {...state}
            // Derived from the name until the user types one.
            derivedSlug={state.form.name.trim() === '' ? '' : slugOf(state.form.name)}
            slugHint="API calls identify the group by its slug. Derived from the name unless you change it."
          />
        )}
      </NewDialog>
    )
  return (
    <EditDialog
      title={`Rename ${group.name}`}
      path={groupPath(group.id)}
      fields={FIELDS}
      paths={Object.keys(FIELDS)}
      formOf={({ name, slug }: Group): Names => ({ name, slug })}
      onSaved={onDone}
      onClose={onClose}
    >
      {({ base, ...state }) => (
        <NameFields
          {...state}
          slugHint={
            state.form.slug === base.slug
              ? 'API calls identify the group by its slug or id.'
              : 'API calls that use the old slug will return 404.'
          }
        />
      )}
    </EditDialog>
  )
}

type NameFieldsProps = FormState<Names> & { slugHint: string; derivedSlug?: string }

function NameFields({ form: { name, slug }, set, problem, slugHint, derivedSlug = '' }: NameFieldsProps) {
  return (
    <>
      <Field label="Name" error={fieldError(problem, 'name')}>
        <Input autoFocus value={name} onChange={(event) => set({ name: event.currentTarget.value })} maxLength={250} />
      </Field>
      <Field label="Slug" hint={slugHint} error={fieldError(problem, 'slug')}>
        <Input
          isCode
          value={slug || derivedSlug}
          maxLength={100}
          onChange={(event) => set({ slug: event.currentTarget.value })}
        />
      </Field>
    </>
  )
}
