import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Webhook } from '#contract/webhooks.ts'
import { EditDialog } from '../edit/edit-dialog.tsx'
import { useToast } from '../ui/toast.tsx'
import { fieldsOf, formOf } from './form-values.ts'
import { groupsQuery } from './queries.ts'
import { WEBHOOK_FIELDS, WebhookFields } from './webhook-fields.tsx'

export function EditWebhook({ webhook: { id }, onClose }: { webhook: Webhook; onClose: () => void }) {
  const queries = useQueryClient()
  const toast = useToast()
  const { data: groups } = useQuery(groupsQuery)
  const fields = fieldsOf((group) => groups?.data.find((candidate) => candidate.id === group)?.name ?? group)
  return (
    <EditDialog
      title="Edit webhook"
      path={`/webhooks/${id}`}
      fields={fields}
      paths={WEBHOOK_FIELDS}
      formOf={formOf}
      onSaved={() => {
        for (const key of ['webhooks', 'groups', 'requests']) void queries.invalidateQueries({ queryKey: [key] })
        toast.done('Webhook saved.')
      }}
      onClose={onClose}
    >
      {({ base, change, form, set, problem }) => (
        <>
          <WebhookFields form={form} onChange={(next) => set(changedPart(form, next))} problem={problem} />
          {base.state === 'paused' && (change.url !== undefined || change.headers !== undefined) && (
            <p className="text-sm text-soft">The webhook is paused. Saving triggers a delivery attempt.</p>
          )}
        </>
      )}
    </EditDialog>
  )
}

/** The changed values of the form. */
function changedPart<Form extends object>(before: Form, after: Form): Partial<Form> {
  const names = Object.keys(after) as (keyof Form)[]
  return Object.fromEntries(
    names.filter((name) => after[name] !== before[name]).map((name) => [name, after[name]]),
  ) as Partial<Form>
}
