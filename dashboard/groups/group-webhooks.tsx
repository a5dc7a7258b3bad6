import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Unlink, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { ApiProblem, api } from '../api.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Code, Section, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { useToast } from '../ui/toast.tsx'
import { HealthBadge } from '../webhooks/status.tsx'
import { groupPath, groupQuery, refreshGroups, webhooksQuery } from './queries.ts'

export function GroupWebhooks({ group, canChange }: { group: Group; canChange: boolean }) {
  const { data, error } = useQuery(webhooksQuery)
  const { set, busy } = useSetAttached(group)
  const receives = ({ id, all_groups }: Webhook) => all_groups === true || group.webhooks.includes(id)
  const attached = data?.data.filter(receives) ?? []
  const others = data?.data.filter((webhook) => !receives(webhook)) ?? []
  return (
    <Section title="Webhooks" hint="They receive the changes of this group’s monitors." isFlush>
      {error ? (
        <div className="p-3">
          <ProblemNote problem={error} />
        </div>
      ) : !data ? (
        <Skeleton lines={2} className="p-4" />
      ) : attached.length === 0 ? (
        <p className="px-4 py-4 text-sm text-soft">
          No webhooks yet. Changes are recorded as events, but not sent to an endpoint.
        </p>
      ) : (
        <ul className="divide-y divide-line">
          {attached.map((webhook) => (
            <li key={webhook.id} className="flex items-center gap-3 py-2 pr-2 pl-4">
              <Link
                to="/webhooks/$webhook"
                params={{ webhook: webhook.id }}
                className="min-w-0 flex-1 truncate rounded-sm hover:underline"
                title={webhook.url}
              >
                <Code>{webhook.url}</Code>
              </Link>
              <HealthBadge webhook={webhook} />
              {webhook.all_groups && <span className="shrink-0 text-xs text-faint">All groups</span>}
              {canChange && !webhook.all_groups && (
                <Button
                  variant="quiet"
                  size="sm"
                  isSquare
                  aria-label={`Detach ${webhook.url}`}
                  isBusy={busy === webhook.id}
                  onClick={() => set(webhook, false)}
                >
                  <Unlink />
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {canChange && data && (
        <div className="border-t border-line p-3">
          {others.length > 0 ? (
            <Attach others={others} isBusy={busy !== undefined} onAttach={(webhook) => set(webhook, true)} />
          ) : (
            <ButtonLink to="/webhooks" size="sm">
              <WebhookIcon /> {data.data.length === 0 ? 'Create a webhook' : 'All webhooks'}
            </ButtonLink>
          )}
        </div>
      )}
    </Section>
  )
}

type AttachProps = { others: readonly Webhook[]; isBusy: boolean; onAttach: (webhook: Webhook) => void }

function Attach({ others, isBusy, onAttach }: AttachProps) {
  const [selectedId, setSelectedId] = useState('')
  const webhook = others.find(({ id }) => id === selectedId) ?? others[0]!
  return (
    <div className="flex gap-2">
      <Select
        label="Webhook to attach"
        value={webhook.id}
        onChange={setSelectedId}
        options={others.map(({ id, url }) => ({ value: id, label: url }))}
        className="min-w-0"
      />
      <Button isBusy={isBusy} onClick={() => onAttach(webhook)}>
        Attach
      </Button>
    </div>
  )
}

const MAX_ATTEMPTS = 5

/** Replaces the list of webhooks with If-Match, and reattempt after a concurrent change. */
async function attach(group: Group, webhook: string, isOn: boolean): Promise<Group> {
  const path = groupPath(group.id)
  for (let attempt = 1; ; attempt++) {
    const { value, etag } = await api.getVersioned<Group>(path)
    const others = value.webhooks.filter((id) => id !== webhook)
    try {
      return (await api.patchIfMatch<Group>(path, { webhooks: isOn ? [...others, webhook] : others }, etag)).value
    } catch (problem) {
      if (!(problem instanceof ApiProblem && problem.status === 412) || attempt === MAX_ATTEMPTS) throw problem
    }
  }
}

function useSetAttached(group: Group) {
  const queries = useQueryClient()
  const toast = useToast()
  const [busy, setBusy] = useState<string>()
  const set = async ({ id, url }: Webhook, isOn: boolean) => {
    setBusy(id)
    try {
      const saved = await attach(group, id, isOn)
      queries.setQueryData(groupQuery(group.slug).queryKey, (known) => ({ ...known, ...saved }))
      void refreshGroups(queries)
      toast.done(
        isOn
          ? `${url} now receives the events of ${group.name}.`
          : `${url} no longer receives the events of ${group.name}.`,
      )
    } catch (problem) {
      toast.failed(problem)
    } finally {
      setBusy(undefined)
    }
  }
  return { busy, set: (webhook: Webhook, isOn: boolean) => void set(webhook, isOn) }
}
