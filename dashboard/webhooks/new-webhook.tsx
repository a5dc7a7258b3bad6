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

/** Makes a webhook, shows its secret once, and leads to its page. */
export function NewWebhook({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { data: groups } = useQuery(groupsQuery)
  const [given, setGiven] = useState(() => emptyForm([]))
  // Until groups are chosen it is the default one, which may still be on its way while an address is typed.
  const [chosen, setChosen] = useState<string[]>()
  const form = { ...given, groups: chosen ?? defaultGroupIds(groups) }
  const change = (next: WebhookForm) => {
    setGiven(next)
    if (next.groups !== form.groups) setChosen(next.groups)
  }
  const make = useMutation({
    mutationFn: async () => {
      const to = chosen ?? defaultGroupIds(await queries.ensureQueryData(groupsQuery))
      return await api.post<Webhook>('/webhooks', newWebhookOf({ ...given, groups: to }))
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['webhooks'] })
      void queries.invalidateQueries({ queryKey: ['groups'] })
    },
  })
  if (make.data) {
    const { id, secret } = make.data
    const toPage = () => {
      onClose()
      void navigate({ to: '/webhooks/$webhook', params: { webhook: id } })
    }
    return <SecretOnce title="Webhook created" secret={secret} doneLabel="Go to webhook" onDone={toPage} />
  }
  return (
    <FormDialog
      onClose={onClose}
      title="New webhook"
      description="Receives changes from the moment you create it."
      submitLabel="Create webhook"
      isBusy={make.isPending}
      onSubmit={() => make.mutate()}
    >
      <WebhookFields form={form} onChange={change} problem={make.error} isNew />
      {make.error && <ProblemNote problem={make.error} fields={WEBHOOK_FIELDS} />}
    </FormDialog>
  )
}

const defaultGroupIds = (groups: Page<Group> | undefined): string[] =>
  groups?.data.filter(({ is_default }) => is_default).map(({ id }) => id) ?? []
