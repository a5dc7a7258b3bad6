import { Menu as Base } from '@base-ui/react/menu'
import { Link } from '@tanstack/react-router'
import { CirclePause, CirclePlay, ExternalLink, RotateCw, Trash2 } from 'lucide-react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import { MenuItem, MenuLabel, MenuSeparator } from '../ui/menu.tsx'
import { ACTIONS, type Action } from './list-actions.ts'

export type RowMenu = { monitor: MonitorResponse; anchor: HTMLElement }

type RowMenuProps = {
  menu: RowMenu | undefined
  canChange: boolean
  onClose: () => void
  onAction: (act: Action, monitor: MonitorResponse) => void
  onDelete: (monitor: MonitorResponse) => void
}

/** The menu of the row that opened it. */
export function ListMenu({ menu, canChange, onClose, onAction, onDelete }: RowMenuProps) {
  const monitor = menu?.monitor
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
                    <MenuItem
                      icon={RotateCw}
                      isDisabled={!monitor.is_active}
                      onSelect={() => onAction(ACTIONS.check, monitor)}
                    >
                      Check now
                    </MenuItem>
                    {monitor.is_active ? (
                      <MenuItem icon={CirclePause} onSelect={() => onAction(ACTIONS.disable, monitor)}>
                        Disable
                      </MenuItem>
                    ) : (
                      <MenuItem icon={CirclePlay} onSelect={() => onAction(ACTIONS.enable, monitor)}>
                        Enable
                      </MenuItem>
                    )}
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
