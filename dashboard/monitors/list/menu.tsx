import { Menu as Base } from '@base-ui/react/menu'
import { Link } from '@tanstack/react-router'
import { CirclePause, CirclePlay, ExternalLink, RotateCw, Trash2 } from 'lucide-react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import { api } from '../../api.ts'
import { MenuItem, MenuLabel, MenuSeparator } from '../../ui/menu.tsx'
import { useToast } from '../../ui/toast.tsx'
import { monitorPath } from '../queries.ts'
import { useToggleActive } from '../toggle-active.ts'

export type RowMenu = { monitor: MonitorResponse; anchor: HTMLElement }

type RowMenuProps = {
  menu: RowMenu | undefined
  canChange: boolean
  onClose: () => void
  onDelete: (monitor: MonitorResponse) => void
}

/** The menu of the row that opened it. */
export function ListMenu({ menu, canChange, onClose, onDelete }: RowMenuProps) {
  const monitor = menu?.monitor
  const toast = useToast()
  const toggle = useToggleActive()
  const check = ({ id }: MonitorResponse) =>
    api.post(`${monitorPath(id)}/check`).then(() => toast.done('Queued for a check.'), toast.failed)
  return (
    <Base.Root open={menu !== undefined} onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Base.Portal>
        <Base.Positioner anchor={menu?.anchor} sideOffset={4} align="end" className="z-50">
          <Base.Popup
            finalFocus={() => menu?.anchor ?? true}
            className="popup min-w-44 rounded-lg border border-line bg-raised p-1 shadow-pop outline-none"
          >
            {monitor && (
              <>
                <MenuLabel>
                  {recordName(monitor)} {monitor.record_type}
                </MenuLabel>
                <MenuItem
                  icon={ExternalLink}
                  render={<Link to="/monitors/$monitor" params={{ monitor: monitor.id }} />}
                >
                  Open
                </MenuItem>
                {canChange && (
                  <>
                    <MenuItem icon={RotateCw} isDisabled={!monitor.is_active} onSelect={() => void check(monitor)}>
                      Check now
                    </MenuItem>
                    <MenuItem icon={monitor.is_active ? CirclePause : CirclePlay} onSelect={() => void toggle(monitor)}>
                      {monitor.is_active ? 'Disable' : 'Enable'}
                    </MenuItem>
                    <MenuSeparator />
                    <MenuItem icon={Trash2} isDangerous onSelect={() => onDelete(monitor)}>
                      Delete…
                    </MenuItem>
                  </>
                )}
              </>
            )}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
