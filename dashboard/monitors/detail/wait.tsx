import { CircleCheck, Ellipsis, ExternalLink, Hourglass, Link2Off, Octagon, RefreshCw } from 'lucide-react'
import { useState } from 'react'
import type { SetupPage, Wait } from '#contract/setup-pages.ts'
import { api } from '../../api.ts'
import { useSession } from '../../session.tsx'
import { Button, ButtonAnchor } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { Section } from '../../ui/page.tsx'
import { Badge } from '../../ui/state.tsx'
import { Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { type MonitorDetails, monitorPath, useRefresh } from '../queries.ts'

type WaitProps = { monitor: MonitorDetails; wait: Wait }

/** The wait for a record of a customer: its state, and the link to send. */
export function MonitorWait({ monitor, wait }: WaitProps) {
  const { can } = useSession()
  const startWait = useStartWait(monitor)
  const { setup_page: page } = wait
  return (
    <Section
      title={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          Waiting for this record <WaitBadge wait={wait} />
        </span>
      }
      hint={<WaitHint wait={wait} />}
      actions={can('write') && <WaitMenu monitor={monitor} wait={wait} />}
    >
      {page ? (
        <div className="flex flex-col gap-3">
          <p className="text-sm text-soft">
            Send this link to your customer. It needs no sign-in. It shows what to enter and where, and whether the
            record is found.
          </p>
          <div className="flex flex-wrap items-start gap-2">
            <div className="min-w-0 flex-1 basis-72">
              <Snippet text={page.url} label="Copy link" />
            </div>
            <ButtonAnchor href={page.url} target="_blank" rel="noopener noreferrer">
              <ExternalLink /> Open page
            </ButtonAnchor>
          </div>
          <p className="text-xs text-faint">
            The link works until <Time at={page.expires} isExact />.
          </p>
        </div>
      ) : (
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="text-sm text-soft">The link was revoked. There is no public page for this record.</p>
          {can('write') && <Button onClick={startWait}>Create a new link</Button>}
        </div>
      )}
    </Section>
  )
}

function WaitBadge({ wait: { state } }: { wait: Wait }) {
  if (state === 'valid') return <Badge tone="good" icon={CircleCheck} label="Found" />
  if (state === 'timed_out') return <Badge tone="warn" icon={Octagon} label="Timed out" />
  return <Badge tone="idle" icon={Hourglass} label="Waiting" />
}

function WaitHint({ wait: { state, deadline, ended } }: { wait: Wait }) {
  if (state === 'valid') return <>Only the regular checks continue.</>
  if (state === 'timed_out' && ended)
    return (
      <>
        The record was not found by <Time at={ended} isExact />. Only the regular checks continue.
      </>
    )
  return (
    <>
      Frequent checks of the authoritative name servers until <Time at={deadline} isExact />.
    </>
  )
}

function WaitMenu({ monitor, wait }: WaitProps) {
  const [isOpen, setOpen] = useState<'renew' | 'revoke'>()
  const refresh = useRefresh()
  const toast = useToast()
  const startWait = useStartWait(monitor)
  const close = () => setOpen(undefined)
  const page = wait.setup_page
  const stop = async () => {
    try {
      await api.patch(monitorPath(monitor.id), { until: null })
      await refresh()
      toast.done('Zonewatch no longer waits for this record. The regular checks continue.')
    } catch (problem) {
      toast.failed(problem)
    }
  }
  const renew = async () => {
    await api.post<SetupPage>(`/setup-pages/${page?.id}/renew`, {})
    await refresh()
    toast.done('Link replaced. The previous link no longer works.')
  }
  const revoke = async () => {
    await api.delete(`/setup-pages/${page?.id}`)
    await refresh()
    toast.done('Link revoked.')
  }
  return (
    <>
      <Menu
        trigger={
          <Button size="sm" isSquare aria-label="Change the wait">
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Hourglass} onSelect={startWait}>
          Wait another 72 hours
        </MenuItem>
        {wait.state === 'waiting' && (
          <MenuItem icon={Octagon} onSelect={stop}>
            Stop waiting
          </MenuItem>
        )}
        {page && (
          <>
            <MenuSeparator />
            <MenuItem icon={RefreshCw} onSelect={() => setOpen('renew')}>
              Replace link
            </MenuItem>
            <MenuItem icon={Link2Off} isDangerous onSelect={() => setOpen('revoke')}>
              Revoke link
            </MenuItem>
          </>
        )}
      </Menu>
      <Confirm
        isOpen={isOpen === 'renew'}
        onClose={close}
        title="Replace the link?"
        confirmLabel="Replace link"
        onConfirm={renew}
      >
        <p>The link you sent stops working at once. Send your customer the new one.</p>
      </Confirm>
      <Confirm
        isOpen={isOpen === 'revoke'}
        onClose={close}
        title="Revoke the link?"
        confirmLabel="Revoke link"
        isDangerous
        onConfirm={revoke}
      >
        <p>Everyone who has the link loses access to the public page and all of its records. The monitors stay.</p>
      </Confirm>
    </>
  )
}

/** Starts the wait, or starts it again. */
export function useStartWait({ id }: Pick<MonitorDetails, 'id'>): () => Promise<void> {
  const refresh = useRefresh()
  const toast = useToast()
  return async () => {
    try {
      await api.patch(monitorPath(id), { until: 'valid' })
      await refresh()
      toast.done('Zonewatch waits for this record. The link for your customer is on this page.')
    } catch (problem) {
      toast.failed(problem)
    }
  }
}
