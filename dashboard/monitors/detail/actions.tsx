import { useNavigate } from '@tanstack/react-router'
import { CalendarClock, Ellipsis, Hourglass, Pause, Pencil, Play, RotateCw, SquareTerminal, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { useSession } from '../../session.tsx'
import { Button } from '../../ui/button.tsx'
import { Snippet } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../ui/menu.tsx'
import { DeleteMonitor } from '../delete-monitor.tsx'
import type { MonitorDetails } from '../queries.ts'
import { useToggleActive } from '../toggle-active.ts'
import type { Checking } from './checking.ts'
import { curlOf } from './curl.ts'
import { useStartWait } from './wait.tsx'

const MonitorEdit = lazy(async () => ({ default: (await import('./edit.tsx')).MonitorEdit }))
const PlanDialog = lazy(async () => ({ default: (await import('../../planned-changes/dialog.tsx')).PlanDialog }))

type ActionsProps = { monitor: MonitorDetails; checking: Checking }

export function MonitorActions({ monitor, checking }: ActionsProps) {
  const { can } = useSession()
  const [dialog, setDialog] = useState<'edit' | 'plan' | 'curl' | 'delete'>()
  const close = () => setDialog(undefined)
  const toggleActive = useToggleActive()
  const toggle = () => void toggleActive(monitor)
  const navigate = useNavigate()
  const wait = useStartWait(monitor)
  const canWrite = can('write')
  return (
    <>
      {canWrite && monitor.is_active && (
        <Button isBusy={checking.phase === 'checking'} onClick={checking.start}>
          <RotateCw /> Check now
        </Button>
      )}
      {canWrite && !monitor.is_active && (
        <Button variant="primary" onClick={toggle}>
          <Play /> Enable
        </Button>
      )}
      {canWrite && (
        <Button onClick={() => setDialog('edit')}>
          <Pencil /> Edit
        </Button>
      )}
      <Menu
        trigger={
          <Button isSquare aria-label="More">
            <Ellipsis />
          </Button>
        }
      >
        {canWrite && (
          <MenuItem icon={CalendarClock} onSelect={() => setDialog('plan')}>
            Plan a change
          </MenuItem>
        )}
        <MenuItem icon={SquareTerminal} onSelect={() => setDialog('curl')}>
          Copy as curl
        </MenuItem>
        {canWrite && (
          <>
            {monitor.is_active && (
              <MenuItem icon={Pause} onSelect={toggle}>
                Disable
              </MenuItem>
            )}
            {!monitor.wait && monitor.state !== 'VALID' && (
              <MenuItem icon={Hourglass} onSelect={wait}>
                Wait for a customer
              </MenuItem>
            )}
            <MenuSeparator />
            <MenuItem icon={Trash2} isDangerous onSelect={() => setDialog('delete')}>
              Delete
            </MenuItem>
          </>
        )}
      </Menu>
      <Suspense>
        {dialog === 'edit' && <MonitorEdit monitor={monitor} onClose={close} />}
        {dialog === 'plan' && <PlanDialog monitor={monitor} onClose={close} />}
      </Suspense>
      <CurlDialog monitor={monitor} isOpen={dialog === 'curl'} onClose={close} />
      {dialog === 'delete' && (
        <DeleteMonitor monitor={monitor} onDeleted={() => navigate({ to: '/monitors' })} onClose={close} />
      )}
    </>
  )
}

type DialogProps = { monitor: MonitorDetails; isOpen: boolean; onClose: () => void }

function CurlDialog({ monitor, isOpen, onClose }: DialogProps) {
  const { me } = useSession()
  const { show, create } = curlOf(monitor, me.server.base_url)
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      isWide
      title="Copy as curl"
      description="Set $ZONEWATCH_KEY to an API key first. Create keys in the settings."
    >
      <div className="flex flex-col gap-4">
        <div className="flex flex-col gap-1.5">
          <h3 className="text-sm font-medium">Get this monitor</h3>
          <Snippet text={show} label="Copy the GET command" />
        </div>
        <div className="flex flex-col gap-1.5">
          <h3 className="text-sm font-medium">Create a copy</h3>
          <Snippet text={create} label="Copy the create command" />
        </div>
      </div>
    </Dialog>
  )
}
