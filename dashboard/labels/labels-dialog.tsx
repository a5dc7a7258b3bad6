import { type FormEvent, useId, useState } from 'react'
import { buildUrl, type Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import { useEdit } from '../edit/use-edit.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input, TextArea } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { LABEL_FIELDS, LABELS_INCLUDE, type Labels, labelsChangeOf, labelsDraftOf, parsePairs } from './labels-draft.ts'

type DialogProps = {
  /** The path of the monitor or group in the API. */
  path: string
  onSaved: () => Promise<unknown>
  onClose: () => void
}

/** Edits tags, external id and metadata. */
export function LabelsDialog({ path, onSaved, onClose }: DialogProps) {
  const id = useId()
  const [isBusy, setBusy] = useState(false)
  const fullPath = buildUrl(path, { include: LABELS_INCLUDE })
  return (
    <Dialog
      isOpen
      isPersistent
      onClose={onClose}
      title="Edit labels"
      description="Your own id, tags and metadata, for filters and integrations."
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={id} isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <LoadResource<Labels> path={fullPath}>
        {(opened) => <Form {...{ id, opened, onSaved }} path={fullPath} onBusy={setBusy} onDone={onClose} />}
      </LoadResource>
    </Dialog>
  )
}

type FormProps = Pick<DialogProps, 'path' | 'onSaved'> & {
  id: string
  opened: Versioned<Labels>
  onBusy: (isBusy: boolean) => void
  onDone: () => void
}

function Form({ id, path, opened, onSaved, onBusy, onDone }: FormProps) {
  const edit = useEdit(opened, { path, fields: LABEL_FIELDS, formOf: labelsDraftOf, changeOf: labelsChangeOf })
  const { form, set, problem } = edit
  const toast = useToast()
  const [isSubmitted, setSubmitted] = useState(false)
  const lineError = parsePairs(form.metadata).problem
  const save = async (event: FormEvent) => {
    event.preventDefault()
    setSubmitted(true)
    if (lineError) return
    if (!edit.isChanged) return onDone()
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (!saved) return
    await onSaved()
    toast.done('Saved.')
    onDone()
  }
  return (
    <form id={id} onSubmit={save} noValidate className="flex flex-col gap-4">
      <ConflictNote {...edit} fields={LABEL_FIELDS} />
      {problem !== undefined && <ProblemNote problem={problem} fields={shownPaths(problem)} />}
      <Field label="Tags" isOptional hint="Separated by spaces. Case-sensitive." error={fieldError(problem, 'tags')}>
        <Input isCode value={form.tags} onChange={(event) => set({ tags: event.target.value })} placeholder="prod eu" />
      </Field>
      <Field
        label="External id"
        isOptional
        hint="The id in your own system, unique within the organization."
        error={fieldError(problem, 'external_id')}
      >
        <Input
          isCode
          maxLength={128}
          value={form.external_id}
          onChange={(event) => set({ external_id: event.target.value })}
          placeholder="customer-300/www"
        />
      </Field>
      <Field
        label="Metadata"
        isOptional
        hint="One key=value per line."
        error={(isSubmitted ? lineError : undefined) ?? fieldError(problem, 'metadata')}
      >
        <TextArea
          isCode
          rows={4}
          value={form.metadata}
          onChange={(event) => set({ metadata: event.target.value })}
          placeholder="customer=acme"
        />
      </Field>
    </form>
  )
}

/** The error paths that a field shows. `tags.2` is shown at the tags. */
function shownPaths(problem: unknown): string[] {
  const paths = Object.keys((problem as { errors?: object }).errors ?? {})
  return paths.filter((path) => path.split('.')[0]! in LABEL_FIELDS)
}
