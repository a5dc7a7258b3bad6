import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useRouter } from '@tanstack/react-router'
import { Pencil, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { GroupResponse } from '#contract/groups.ts'
import { monitorsText } from '#contract/wording.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Code, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge } from '../ui/state.tsx'
import { UptimeSection } from '../uptime/section.tsx'
import { ChangeAllMonitors } from './change-all-monitors.tsx'
import { GroupDelete } from './group-delete.tsx'
import { GroupDialog } from './group-dialog.tsx'
import { GroupMonitors } from './group-monitors.tsx'
import { GroupWebhooks } from './group-webhooks.tsx'
import { groupPath, groupQuery, refreshGroups } from './queries.ts'

const LabelsSection = lazy(async () => ({ default: (await import('../labels/labels-section.tsx')).LabelsSection }))
const route = getRouteApi('/signed-in/groups/$group')
const BACK = { to: '/groups', label: 'Groups' } as const

export function GroupPage() {
  const { group: slug } = route.useParams()
  const { data: group, error, refetch } = useQuery(groupQuery(slug))
  if (group) return <LoadedPage group={group} />
  return (
    <Page title="Group" back={BACK}>
      {error ? <ProblemPage problem={error} onRetry={() => void refetch()} /> : <Skeleton lines={6} />}
    </Page>
  )
}

function LoadedPage({ group }: { group: GroupResponse }) {
  const router = useRouter()
  const queries = useQueryClient()
  const { can } = useSession()
  const canChange = can('write')
  const [dialog, setDialog] = useState<'rename' | 'delete'>()
  const close = () => setDialog(undefined)
  return (
    <Page
      title={group.name}
      back={BACK}
      heading={
        <span className="flex flex-wrap items-center gap-2.5">
          {group.name} {group.is_default && group.name !== 'Default' && <Badge tone="idle" label="Default" />}
        </span>
      }
      lead={
        <>
          <Code>{group.slug}</Code> · {monitorsText(group.monitors)}
          {group.is_default && ' · used when no group is set'}
        </>
      }
      actions={
        canChange && (
          <>
            <Button onClick={() => setDialog('rename')}>
              <Pencil /> Rename
            </Button>
            {!group.is_default && (
              <Button variant="danger" onClick={() => setDialog('delete')}>
                <Trash2 /> Delete
              </Button>
            )}
          </>
        )
      }
    >
      <div className="grid items-start gap-5 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="flex min-w-0 flex-col gap-5">
          <GroupMonitors group={group} canChange={canChange} />
          <UptimeSection path={groupPath(group.id)} />
        </div>
        <div className="flex min-w-0 flex-col gap-5">
          <GroupWebhooks group={group} canChange={canChange} />
          <Suspense>
            <LabelsSection labels={group} path={groupPath(group.id)} onSaved={() => refreshGroups(queries)} />
          </Suspense>
          {canChange && group.monitors > 0 ? (
            <ChangeAllMonitors group={group} />
          ) : (
            !canChange && (
              <Section>
                <p className="text-sm text-faint">Your role is read-only.</p>
              </Section>
            )
          )}
        </div>
      </div>
      {dialog === 'rename' && (
        <GroupDialog
          group={group}
          onClose={close}
          onSaved={({ slug }) => void router.navigate({ to: '/groups/$group', params: { group: slug }, replace: true })}
        />
      )}
      <GroupDelete
        group={group}
        isOpen={dialog === 'delete'}
        onClose={close}
        onDeleted={() => void router.navigate({ to: '/groups', replace: true })}
      />
    </Page>
  )
}
