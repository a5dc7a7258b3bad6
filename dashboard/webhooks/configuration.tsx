import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { KeyRound, Pencil } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Code, Fact, Facts, Section } from '../ui/page.tsx'
import { Time } from '../ui/time.tsx'
import { groupsQuery } from './queries.ts'
import { includeLabel } from './status.tsx'

const EditWebhook = lazy(async () => ({ default: (await import('./edit-webhook.tsx')).EditWebhook }))
const RotateSecret = lazy(async () => ({ default: (await import('./rotate-secret.tsx')).RotateSecret }))

export function Configuration({ webhook }: { webhook: Webhook }) {
  const { can } = useSession()
  const [open, setOpen] = useState<'edit' | 'rotate'>()
  const headers = Object.entries(webhook.headers)
  return (
    <Section
      title="Configuration"
      actions={
        can('write') && (
          <>
            <Button size="sm" onClick={() => setOpen('rotate')}>
              <KeyRound /> Rotate secret
            </Button>
            <Button size="sm" onClick={() => setOpen('edit')}>
              <Pencil /> Edit
            </Button>
          </>
        )
      }
    >
      <Facts>
        <Fact name="URL">
          <Code>{webhook.url}</Code>
        </Fact>
        <Fact name="Groups">{webhook.all_groups ? 'all' : <GroupLinks ids={webhook.groups} />}</Fact>
        <Fact name="Secret">
          <Code>{webhook.secret}</Code>
        </Fact>
        <Fact name="Headers">
          {headers.length === 0 ? (
            <span className="text-faint">none</span>
          ) : (
            headers.map(([name, value]) => (
              <div key={name}>
                <Code>
                  {name}: {value}
                </Code>
              </div>
            ))
          )}
        </Fact>
        {webhook.payload_includes && (
          <Fact name="Added to the payload">{webhook.payload_includes.map(includeLabel).join(', ')}</Fact>
        )}
        {webhook.zone_events && <Fact name="Findings about zones">sent</Fact>}
        {webhook.batch && (
          <Fact name="Batches">
            up to {webhook.batch.max_events} changes, after at most {webhook.batch.max_wait_seconds} s
          </Fact>
        )}
        <Fact name="Created">
          <Time at={webhook.created} isExact />
        </Fact>
        <Fact name="Id">
          <Code>{webhook.id}</Code>
        </Fact>
      </Facts>
      <Suspense>
        {open === 'edit' && <EditWebhook webhook={webhook} onClose={() => setOpen(undefined)} />}
        {open === 'rotate' && <RotateSecret webhook={webhook} onClose={() => setOpen(undefined)} />}
      </Suspense>
    </Section>
  )
}

function GroupLinks({ ids }: { ids: readonly string[] }) {
  const { data } = useQuery(groupsQuery)
  if (ids.length === 0) return <span className="text-warn">none, so nothing is sent</span>
  return (
    <span className="flex flex-wrap gap-x-3 gap-y-1">
      {ids.map((id) => {
        const group = data?.data.find((candidate) => candidate.id === id)
        return (
          <Link
            key={id}
            to="/groups/$group"
            params={{ group: group?.slug ?? id }}
            className="rounded-sm text-accent-ink hover:underline"
          >
            {group?.name ?? id}
          </Link>
        )
      })}
    </span>
  )
}
