import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { changeOf, formOf } from './form-values.ts'
import { WEBHOOK_FIELDS, WebhookFields } from './webhook-fields.tsx'

export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const queries = useQueryClient()
  const toast = useToast()
  const formId = useId()
  const [form, setForm] = useState(() => formOf(webhook))
  const change = changeOf(webhook, form)
  const isChanged = Object.keys(change).length > 0
  const save = useMutation({
    mutationFn: () => api.patch<Webhook>(`/webhooks/${webhook.id}`, change),
    onSuccess: () => {
      for (const key of ['webhooks', 'groups', 'requests']) void queries.invalidateQueries({ queryKey: [key] })
      toast.done('The webhook is changed.')
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isChanged) save.mutate()
    else onClose()
  }
  const isTriedAtOnce = webhook.state === 'paused' && (change.url !== undefined || change.headers !== undefined)
  return (
    <Dialog
      isOpen
      isKept={isChanged}
      onClose={onClose}
      title="Edit webhook"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId} isBusy={save.isPending}>
            Save
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className="flex flex-col gap-5">
        <WebhookFields form={form} onChange={setForm} problem={save.error} />
        {isTriedAtOnce && <p className="text-sm text-soft">It is paused: once saved, it is tried at once.</p>}
        {save.error && <ProblemNote problem={save.error} fields={WEBHOOK_FIELDS} />}
      </form>
    </Dialog>
  )
}
