import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { BellOff, FolderTree, MoreHorizontal, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Bones, Code, Page, Section } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge } from '../ui/state.tsx'
import { Cell, Head, Table } from '../ui/table.tsx'
import { GroupDelete } from './group-delete.tsx'
import { GroupDialog } from './group-dialog.tsx'
import { groupsQuery, webhooksQuery } from './queries.ts'

type Asking = { to: 'make' } | { to: 'rename' | 'delete'; group: Group }

export function GroupsPage() {
  const { can } = useSession()
  const canChange = can('write')
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(groupsQuery)
  const [asking, setAsking] = useState<Asking>()
  const groups = data?.pages.flatMap((page) => page.data)
  const webhooks = useQuery(webhooksQuery).data?.data
  const ofAll = webhooks?.filter(({ all_groups }) => all_groups).map(({ id }) => id)
  const close = () => setAsking(undefined)
  const make = (
    <Button look="primary" onClick={() => setAsking({ to: 'make' })}>
      <Plus /> New group
    </Button>
  )
  return (
    <Page
      title="Groups"
      help="reference/webhooks#groups-and-webhooks"
      lead="Sets of monitors and the webhooks that receive their events."
      actions={canChange && make}
    >
      <Section isFlush>
        {groups ? (
          <>
            <Table
              label="Groups"
              head={
                <>
                  <Head>Name</Head>
                  <Head className="hidden sm:table-cell">Slug</Head>
                  <Head className="text-right">Monitors</Head>
                  <Head>Webhooks</Head>
                  <Head hidden="Actions" className="w-12" />
                </>
              }
            >
              {groups.map((group) => (
                <GroupRow
                  key={group.id}
                  group={group}
                  ofAll={ofAll}
                  canChange={canChange}
                  onAsk={(to) => setAsking({ to, group })}
                />
              ))}
            </Table>
            {hasNextPage && (
              <div className="border-t border-line p-3 text-center">
                <Button size="sm" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  Show more
                </Button>
              </div>
            )}
            {groups.length === 1 && (
              <div className="border-t border-line">
                <Empty icon={FolderTree} title="Only the default group">
                  All monitors are in the default group. Create a group per environment, customer or team to alert
                  different webhooks.
                </Empty>
              </div>
            )}
          </>
        ) : error ? (
          <ProblemPage problem={error} onRetry={() => void refetch()} />
        ) : (
          <Bones lines={4} className="p-4" />
        )}
      </Section>
      {asking?.to === 'make' && <GroupDialog onClose={close} />}
      {asking?.to === 'rename' && <GroupDialog group={asking.group} onClose={close} />}
      {asking?.to === 'delete' && <GroupDelete group={asking.group} isOpen onClose={close} />}
    </Page>
  )
}

/** `ofAll`: the webhooks that receive all groups; undefined while they are read. */
type RowProps = {
  group: Group
  ofAll: string[] | undefined
  canChange: boolean
  onAsk: (to: 'rename' | 'delete') => void
}

function GroupRow({ group, ofAll, canChange, onAsk }: RowProps) {
  const { name, slug, is_default, monitors } = group
  const webhooks = new Set([...group.webhooks, ...(ofAll ?? [])])
  return (
    <tr>
      <Cell>
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            to="/groups/$group"
            params={{ group: slug }}
            className="rounded-sm font-medium break-words hover:underline"
          >
            {name}
          </Link>
          {is_default && name !== 'Default' && <Badge tone="idle">Default</Badge>}
        </span>
      </Cell>
      <Cell className="hidden text-soft sm:table-cell">
        <Code>{slug}</Code>
      </Cell>
      <Cell className="text-right tabular-nums">
        <Link to="/monitors" search={{ group: slug }} className="rounded-sm hover:underline">
          {monitors.toLocaleString()}
          <span className="sr-only"> monitors of {name}</span>
        </Link>
      </Cell>
      <Cell className="text-soft">
        {ofAll && webhooks.size === 0 ? (
          <Badge tone="warn" icon={BellOff}>
            None
          </Badge>
        ) : (
          webhooks.size.toLocaleString()
        )}
      </Cell>
      <Cell className="py-1! pr-2! pl-0! text-right">
        {canChange && (
          <Menu
            trigger={
              <Button look="quiet" size="sm" isSquare aria-label={`Actions for ${name}`}>
                <MoreHorizontal />
              </Button>
            }
          >
            <MenuItem icon={Pencil} onSelect={() => onAsk('rename')}>
              Rename…
            </MenuItem>
            {!is_default && (
              <MenuItem icon={Trash2} isDangerous onSelect={() => onAsk('delete')}>
                Delete…
              </MenuItem>
            )}
          </Menu>
        )}
      </Cell>
    </tr>
  )
}
