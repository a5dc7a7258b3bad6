import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import {
  CircleAlert,
  CircleCheck,
  Ellipsis,
  PauseCircle,
  Pencil,
  PlayCircle,
  Plus,
  RotateCw,
  Send,
  Trash2,
} from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Channel } from '#contract/alerts.ts'
import type { AlertInFull } from '#contract/incidents.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Spinner } from '../ui/spinner.tsx'
import { Badge } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { Attempts } from './alert-log.tsx'
import { channelsQuery, channelTypesQuery, rulesQuery } from './queries.ts'

const route = getRouteApi('/signed-in/alerts')
const ReplayAlerts = lazy(async () => ({ default: (await import('./replay-alerts.tsx')).ReplayAlerts }))
const RuleDialog = lazy(async () => ({ default: (await import('./rule-dialog.tsx')).RuleDialog }))
const ChannelDialog = lazy(async () => ({ default: (await import('./channel-dialog.tsx')).ChannelDialog }))

export function Channels() {
  const { can } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { data: types } = useQuery(channelTypesQuery)
  const typeName = (name: string) => types?.find(({ type }) => type === name)?.name ?? name
  const { data: rules } = useQuery(rulesQuery)
  const hasNoRule = ({ id }: Channel) =>
    rules?.data.every((rule) => !rule.is_active || !(rule.channels.includes(id) || rule.escalation_channel === id)) ===
    true
  const [tested, setTested] = useState<Channel>()
  const [unused, setUnused] = useState<Channel>()
  const isNew = search.open === 'new'
  const setNew = (isOpen: boolean) =>
    void navigate({ search: isOpen ? { tab: 'channels', open: 'new' } : { tab: 'channels' }, replace: true })
  return (
    <>
      <Section
        title="Channels"
        hint={
          can('manage')
            ? 'Where alerts are sent. Rules select the failures.'
            : 'Admins of your organization manage channels.'
        }
        isFlush
        actions={
          can('manage') && (
            <Button variant="primary" onClick={() => setNew(true)}>
              <Plus /> New channel
            </Button>
          )
        }
      >
        <PagedTable
          label="Channels"
          columns={columnsWith({
            typeName,
            hasNoRule,
            onTest: can('manage') ? setTested : undefined,
            onUse: can('write') ? setUnused : undefined,
          })}
          list={useQuery(channelsQuery)}
          skeletonLines={3}
          empty={<p className="px-4 py-10 text-center text-sm text-faint">No channels yet. Nobody is alerted.</p>}
        />
      </Section>
      <Suspense>{isNew && <ChannelDialog onClose={() => setNew(false)} onCreated={setTested} />}</Suspense>
      <Suspense>{unused && <RuleDialog channel={unused} onClose={() => setUnused(undefined)} />}</Suspense>
      {tested && <TestDialog channel={tested} onClose={() => setTested(undefined)} />}
    </>
  )
}

type ColumnOptions = {
  typeName: (type: string) => string
  /** No active rule sends to it. */
  hasNoRule: (channel: Channel) => boolean
  /** Undefined for users who cannot manage channels. */
  onTest: ((channel: Channel) => void) | undefined
  /** Opens a new rule. Undefined for users who cannot create one. */
  onUse: ((channel: Channel) => void) | undefined
}

const columnsWith = ({ typeName, hasNoRule, onTest, onUse }: ColumnOptions): Column<Channel>[] => [
  {
    id: 'name',
    header: 'Name',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell(({ name, type, settings }) => (
      <>
        <p className="font-medium break-words">{name}</p>
        <p className="text-xs break-words text-faint">
          {typeName(type)}
          {type === 'email' && `: ${recipientsText(settings)}`}
        </p>
      </>
    )),
  },
  {
    id: 'status',
    header: 'Status',
    meta: { cellClassName: 'max-w-72' },
    cell: rowCell((channel) => (
      <>
        <ChannelBadge channel={channel} />
        {hasNoRule(channel) && (
          <p className="mt-1 text-xs text-warn">
            No active rule uses it, so it receives no alerts.{' '}
            {onUse && (
              <button
                type="button"
                className="rounded-sm text-accent-ink hover:underline"
                onClick={() => onUse(channel)}
              >
                Create a rule
              </button>
            )}
          </p>
        )}
        {channel.last_error && <p className="mt-1 line-clamp-3 text-xs text-soft">{channel.last_error}</p>}
      </>
    )),
  },
  {
    id: 'last_sent',
    header: 'Last sent',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell((original) =>
      original.last_sent ? <Time at={original.last_sent} /> : <span className="text-faint">never</span>,
    ),
  },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-px' },
    cell: rowCell(
      (channel) =>
        onTest && (
          <div className="flex justify-end gap-2">
            <Button size="sm" onClick={() => onTest(channel)}>
              <Send /> <span className="max-sm:sr-only">Send test</span>
            </Button>
            <ChannelMenu channel={channel} />
          </div>
        ),
    ),
  },
]

function recipientsText({ owners, addresses }: Record<string, unknown>): string {
  const others = Array.isArray(addresses) ? addresses.map(String) : []
  return [...(owners ? ['owners'] : []), ...others].join(', ')
}

function ChannelBadge({ channel: { is_active, last_error } }: { channel: Channel }) {
  if (!is_active) return <Badge tone="idle" icon={PauseCircle} label="Disabled" />
  return last_error === null ? (
    <Badge tone="good" icon={CircleCheck} label="Active" />
  ) : (
    <Badge tone="bad" icon={CircleAlert} label="Failing" />
  )
}

const SEEN = ['name', 'settings', 'is_active'] as const

function ChannelMenu({ channel }: { channel: Channel }) {
  const path = `/channels/${channel.id}`
  const unchanged = useUnchanged()
  const [open, setOpen] = useState<'edit' | 'replay' | 'delete'>()
  const queries = useQueryClient()
  const toast = useToast()
  const refresh = () => void queries.invalidateQueries({ queryKey: ['channels'] })
  const setActive = async (is_active: boolean) => {
    try {
      await api.patchIfMatch(path, { is_active }, await unchanged(path, channel, SEEN))
      refresh()
    } catch (problem) {
      toast.failed(problem)
    }
  }
  const remove = async () => {
    await api.deleteIfMatch(path, await unchanged(path, channel, SEEN))
    refresh()
    toast.done('Channel deleted.')
  }
  return (
    <>
      <Menu
        trigger={
          <Button size="sm" variant="quiet" isSquare aria-label={`More actions for ${channel.name}`}>
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem
          icon={channel.is_active ? PauseCircle : PlayCircle}
          onSelect={() => void setActive(!channel.is_active)}
        >
          {channel.is_active ? 'Disable' : 'Enable'}
        </MenuItem>
        <MenuItem icon={RotateCw} onSelect={() => setOpen('replay')}>
          Replay alerts
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} isDangerous onSelect={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      <Suspense>
        {open === 'edit' && <ChannelDialog channel={channel} onClose={() => setOpen(undefined)} />}
        {open === 'replay' && <ReplayAlerts channel={channel} onClose={() => setOpen(undefined)} />}
      </Suspense>
      <Confirm
        isOpen={open === 'delete'}
        onClose={() => setOpen(undefined)}
        title="Delete this channel?"
        confirmLabel="Delete channel"
        isDangerous
        onConfirm={remove}
      >
        Alerts to {channel.name} that are not sent yet are canceled. You cannot undo this.
      </Confirm>
    </>
  )
}

/** Sends a test and shows the response. */
function TestDialog({ channel, onClose }: { channel: Channel; onClose: () => void }) {
  const queries = useQueryClient()
  const test = useMutation({
    mutationFn: () => api.post<AlertInFull>(`/channels/${channel.id}/test`),
    onSettled: () => {
      for (const key of ['channels', 'alerts']) void queries.invalidateQueries({ queryKey: [key] })
    },
  })
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title="Send test"
      description={`Sends an example alert to ${channel.name}.`}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button variant="primary" isBusy={test.isPending} onClick={() => test.mutate()}>
            <Send /> {test.data || test.error ? 'Send again' : 'Send test'}
          </Button>
        </>
      }
    >
      <div aria-live="polite" className="text-sm">
        {test.isPending ? (
          <p className="flex items-center gap-2 text-soft">
            <Spinner /> Sending. The receiver has 30 seconds to respond.
          </p>
        ) : test.error ? (
          <ProblemNote problem={test.error} />
        ) : test.data ? (
          <Attempts alert={test.data} />
        ) : (
          <p className="text-soft">The request and the response appear here.</p>
        )}
      </div>
    </Dialog>
  )
}
