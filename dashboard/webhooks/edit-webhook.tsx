import { useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import type { Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import { useEdit } from '../edit/use-edit.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { changeOf, fieldsOf, formOf } from './form-values.ts'
import { groupsQuery } from './queries.ts'
import { WEBHOOK_FIELDS, WebhookFields } from './webhook-fields.tsx'

export function EditWebhook({ webhook: { id }, onClose }: { webhook: Webhook; onClose: () => void }) {
  const formId = useId()
  const [isChanged, setChanged] = useState(false)
  const [isBusy, setBusy] = useState(false)
  return (
    <Dialog
      isOpen
      isPersistent={isChanged}
      onClose={onClose}
      title="Edit webhook"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" form={formId} isBusy={isBusy}>
            Save
          </Button>
        </>
      }
    >
      <LoadResource<Webhook> path={`/webhooks/${id}`}>
        {(opened) => (
          <Form id={formId} opened={opened} onChanged={() => setChanged(true)} onBusy={setBusy} onDone={onClose} />
        )}
      </LoadResource>
    </Dialog>
  )
}

type FormProps = {
  id: string
  opened: Versioned<Webhook>
  onChanged: () => void
  onBusy: (isBusy: boolean) => void
  onDone: () => void
}

function Form({ id, opened, onChanged, onBusy, onDone }: FormProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const { data: groups } = useQuery(groupsQuery)
  const fields = fieldsOf((group) => groups?.data.find((candidate) => candidate.id === group)?.name ?? group)
  const edit = useEdit(opened, { path: `/webhooks/${opened.value.id}`, fields, formOf, changeOf })
  const { change, problem } = edit
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!edit.isChanged) return onDone()
    onBusy(true)
    const saved = await edit.save()
    onBusy(false)
    if (!saved) return
    for (const key of ['webhooks', 'groups', 'requests']) void queries.invalidateQueries({ queryKey: [key] })
    toast.done('Webhook saved.')
    onDone()
  }
  const isRetriedOnSave = edit.base.state === 'paused' && (change.url !== undefined || change.headers !== undefined)
  return (
    <form id={id} onSubmit={submit} className="flex flex-col gap-5">
      <ConflictNote {...edit} fields={fields} />
      <WebhookFields
        form={edit.form}
        onChange={(form) => {
          onChanged()
          edit.set(changedPart(edit.form, form))
        }}
        problem={problem}
      />
      {isRetriedOnSave && (
        <p className="text-sm text-soft">The webhook is paused. Saving triggers a delivery attempt.</p>
      )}
      {problem !== undefined && <ProblemNote problem={problem} fields={WEBHOOK_FIELDS} />}
    </form>
  )
}

/** The changed values of the form. */
function changedPart<Form extends object>(before: Form, after: Form): Partial<Form> {
  const names = Object.keys(after) as (keyof Form)[]
  return Object.fromEntries(
    names.filter((name) => after[name] !== before[name]).map((name) => [name, after[name]]),
  ) as Partial<Form>
}
