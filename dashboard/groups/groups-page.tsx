import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { BellOff, FolderTree, MoreHorizontal, Pencil, Plus, Search, SearchX, Trash2 } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Group, GroupResponse } from '#contract/groups.ts'
import { countText } from '../monitors/list/overview.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Code, Page, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge, STATE_DISPLAY, STATES, StateIcon, stateTitle } from '../ui/state.tsx'
import { type Column, DataTable, rowCell } from '../ui/table.tsx'
import { GroupDelete } from './group-delete.tsx'
import { GroupDialog } from './group-dialog.tsx'
import { groupsQuery, webhooksQuery } from './queries.ts'

const route = getRouteApi('/signed-in/groups')

type GroupsDialog = { kind: 'create' } | { kind: 'rename' | 'delete'; group: Group }

export function GroupsPage() {
  const { can } = useSession()
  const canChange = can('write')
  const { search } = route.useSearch()
  const list = useInfiniteQuery(groupsQuery(search))
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isPlaceholderData } = list
  const [dialog, setDialog] = useState<GroupsDialog>()
  const groups = data?.pages.flatMap((page) => page.data)
  const webhooks = useQuery(webhooksQuery).data?.data
  const allGroupWebhooks = webhooks?.filter(({ all_groups }) => all_groups).map(({ id }) => id)
  const close = () => setDialog(undefined)
  const newButton = (
    <Button variant="primary" onClick={() => setDialog({ kind: 'create' })}>
      <Plus /> New group
    </Button>
  )
  return (
    <Page
      title="Groups"
      help="reference/webhooks#groups-and-webhooks"
      lead="Sets of monitors and the webhooks that receive their events."
      actions={canChange && newButton}
    >
      <SearchField search={search ?? ''} />
      <Section isFlush>
        {groups?.length === 0 ? (
          <EmptyState icon={SearchX} title="No matching groups">
            No group contains <span className="font-mono break-all">{search}</span>.
          </EmptyState>
        ) : groups ? (
          <div aria-busy={isPlaceholderData}>
            <DataTable
              label="Groups"
              columns={columnsWith(allGroupWebhooks, canChange ? setDialog : undefined)}
              rows={groups}
            />
            {hasNextPage && (
              <div className="border-t border-line p-3 text-center">
                <Button size="sm" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
                  Show more
                </Button>
              </div>
            )}
            {groups.length === 1 && search === undefined && (
              <div className="border-t border-line">
                <EmptyState icon={FolderTree} title="Only the default group">
                  All monitors are in the default group. Create a group per environment, customer or team to notify
                  different webhooks.
                </EmptyState>
              </div>
            )}
          </div>
        ) : error ? (
          <ProblemPage problem={error} onRetry={() => void refetch()} />
        ) : (
          <Skeleton lines={4} className="p-4" />
        )}
      </Section>
      {dialog?.kind === 'create' && <GroupDialog onClose={close} />}
      {dialog?.kind === 'rename' && <GroupDialog group={dialog.group} onClose={close} />}
      {dialog?.kind === 'delete' && <GroupDelete group={dialog.group} isOpen onClose={close} />}
    </Page>
  )
}

/** `allGroupWebhooks` is undefined while it loads. `onOpenDialog` is undefined for read-only users. */
const columnsWith = (
  allGroupWebhooks: string[] | undefined,
  onOpenDialog: ((dialog: GroupsDialog) => void) | undefined,
): Column<GroupResponse>[] => [
  {
    id: 'name',
    header: 'Name',
    cell: rowCell((group) => (
      <>
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Link
            to="/groups/$group"
            params={{ group: group.slug }}
            className="rounded-sm font-medium break-words hover:underline"
          >
            {group.name}
          </Link>
          {group.is_default && group.name !== 'Default' && <Badge tone="idle" label="Default" />}
        </span>
        <span className="mt-1 block md:hidden">
          <States group={group} />
        </span>
      </>
    )),
  },
  {
    id: 'slug',
    header: 'Slug',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Code>{row.original.slug}</Code>,
  },
  {
    id: 'monitors',
    header: 'Monitors',
    meta: { className: 'text-right', cellClassName: 'tabular-nums' },
    cell: rowCell(({ slug, name, monitors }) => (
      <Link to="/monitors" search={{ group: slug }} className="rounded-sm hover:underline">
        {monitors.toLocaleString()}
        <span className="sr-only"> monitors of {name}</span>
      </Link>
    )),
  },
  {
    id: 'states',
    header: 'States',
    meta: { className: 'hidden md:table-cell' },
    cell: ({ row }) => <States group={row.original} />,
  },
  {
    id: 'webhooks',
    header: 'Webhooks',
    meta: { cellClassName: 'text-soft' },
    cell: rowCell((group) => {
      const webhooks = new Set([...group.webhooks, ...(allGroupWebhooks ?? [])])
      return allGroupWebhooks && webhooks.size === 0 ? (
        <Badge tone="warn" icon={BellOff} label="None" />
      ) : (
        webhooks.size.toLocaleString()
      )
    }),
  },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-12', cellClassName: 'py-1! pr-2! pl-0! text-right' },
    cell: rowCell((group) => onOpenDialog && <GroupMenu group={group} onOpenDialog={onOpenDialog} />),
  },
]

function GroupMenu({ group, onOpenDialog }: { group: Group; onOpenDialog: (dialog: GroupsDialog) => void }) {
  return (
    <Menu
      trigger={
        <Button variant="quiet" size="sm" isSquare aria-label={`Actions for ${group.name}`}>
          <MoreHorizontal />
        </Button>
      }
    >
      <MenuItem icon={Pencil} onSelect={() => onOpenDialog({ kind: 'rename', group })}>
        Rename…
      </MenuItem>
      {!group.is_default && (
        <MenuItem icon={Trash2} isDangerous onSelect={() => onOpenDialog({ kind: 'delete', group })}>
          Delete…
        </MenuItem>
      )}
    </Menu>
  )
}

/** The number of monitors in each state, as links. */
function States({ group: { slug, name, counts } }: { group: GroupResponse }) {
  if (!counts) return null
  return (
    <span className="flex flex-wrap gap-x-3 gap-y-1 text-xs tabular-nums">
      {STATES.filter((state) => (counts.states[state] ?? 0) > 0).map((state) => (
        <Link
          key={state}
          to="/monitors"
          search={{ group: slug, state, active: 'true' }}
          title={stateTitle(state)}
          className="inline-flex min-h-6 items-center gap-1 rounded-sm hover:underline"
        >
          <StateIcon state={state} />
          {countText(counts.states[state] ?? 0, counts.is_partial)}
          <span className="sr-only">
            {STATE_DISPLAY[state].label} in {name}
          </span>
        </Link>
      ))}
    </span>
  )
}

const DEBOUNCE_MS = 220

/** Updates the URL after a pause in typing. */
function SearchField({ search }: { search: string }) {
  const navigate = route.useNavigate()
  const [text, setText] = useState(search)
  useEffect(() => {
    const next = text.trim()
    if (next === search) return
    const timer = setTimeout(() => void navigate({ search: next ? { search: next } : {}, replace: true }), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text, search, navigate])
  return (
    <div className="relative mb-3 w-full sm:w-80">
      <Search className="pointer-events-none absolute top-2.5 left-3 size-4 text-faint" aria-hidden="true" />
      <input
        type="search"
        aria-label="Search groups"
        placeholder="Name, slug or tag"
        value={text}
        onChange={(event) => setText(event.target.value)}
        spellCheck={false}
        className="h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 text-sm hover:border-soft focus-visible:outline-offset-0"
      />
    </div>
  )
}
