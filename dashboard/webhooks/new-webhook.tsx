import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { api, type Page } from '../api.ts'
import { FormDialog } from '../ui/dialog.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { emptyForm, newWebhookOf, type WebhookForm } from './form-values.ts'
import { groupsQuery } from './queries.ts'
import { SecretOnce } from './secret-once.tsx'
import { WEBHOOK_FIELDS, WebhookFields } from './webhook-fields.tsx'

/** Creates a webhook, shows its secret once, and opens its page. */
export function NewWebhook({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { data: groups } = useQuery(groupsQuery)
  const [input, setInput] = useState(() => emptyForm([]))
  // Undefined until the user selects groups. The default group may still be loading.
  const [selectedGroups, setSelectedGroups] = useState<string[]>()
  const form = { ...input, groups: selectedGroups ?? defaultGroupIds(groups) }
  const change = (next: WebhookForm) => {
    setInput(next)
    if (next.groups !== form.groups) setSelectedGroups(next.groups)
  }
  const create = useMutation({
    mutationFn: async () => {
      const groupIds = selectedGroups ?? defaultGroupIds(await queries.ensureQueryData(groupsQuery))
      return await api.post<Webhook>('/webhooks', newWebhookOf({ ...input, groups: groupIds }))
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['webhooks'] })
      void queries.invalidateQueries({ queryKey: ['groups'] })
    },
  })
  if (create.data) {
    const { id, secret } = create.data
    const openPage = () => {
      onClose()
      void navigate({ to: '/webhooks/$webhook', params: { webhook: id } })
    }
    return <SecretOnce title="Webhook created" secret={secret} doneLabel="Go to webhook" onDone={openPage} />
  }
  return (
    <FormDialog
      onClose={onClose}
      title="New webhook"
      description="Receives changes from the moment you create it."
      submitLabel="Create webhook"
      isBusy={create.isPending}
      onSubmit={() => create.mutate()}
    >
      <WebhookFields form={form} onChange={change} problem={create.error} isNew />
      {create.error && <ProblemNote problem={create.error} fields={WEBHOOK_FIELDS} />}
    </FormDialog>
  )
}

const defaultGroupIds = (groups: Page<Group> | undefined): string[] =>
  groups?.data.filter(({ is_default }) => is_default).map(({ id }) => id) ?? []
