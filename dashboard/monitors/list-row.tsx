import { MoreHorizontal } from 'lucide-react'
import { type MouseEvent, memo, useRef } from 'react'
import type { MonitorAnswer } from '#contract/monitors.ts'
import { cx } from '../ui/class.ts'
import { State } from '../ui/state.tsx'
import type { Column } from './list-columns.tsx'
import { useFlash } from './list-highlight.ts'
import { Name, Since, Tick } from './list-parts.tsx'
import { monitorHref, ownerOf } from './list-query.ts'

export type RowProps = {
  monitor: MonitorAnswer
  columns: readonly Column[]
  isCompact: boolean
  at: number
  now: number
  group: string
  isTicked: boolean
  /** Whether there is anything to tick it for. */
  canChange: boolean
  onTick: (id: string, withRange: boolean) => void
  onOpen: (id: string, event: MouseEvent) => void
  onMenu: (monitor: MonitorAnswer, anchor: HTMLElement) => void
}

/** Whether the press was meant for the row, not for a control in it. */
const isForRow = ({ target }: MouseEvent): boolean => !(target as HTMLElement).closest('a, button, input, label')

export const Row = memo(function Row(props: RowProps) {
  const { monitor, columns, isCompact, at, isTicked, canChange, onTick, onOpen, onMenu } = props
  const row = useRef<HTMLTableRowElement>(null)
  useFlash(row, monitor)
  const { id } = monitor
  const name = ownerOf(monitor)
  return (
    <tr
      ref={row}
      aria-rowindex={at + 2}
      onClick={(event) => isForRow(event) && onOpen(id, event)}
      className={cx(
        'scroll-mt-24 cursor-pointer lg:scroll-mt-10 border-line not-last:border-b',
        isCompact ? 'h-9' : 'h-12',
        isTicked ? 'bg-accent-wash' : 'hover:bg-sunken/60',
      )}
    >
      <td className="pl-2">
        {canChange && (
          <Tick
            label={`Select ${name} ${monitor.record_type}`}
            isOn={isTicked}
            cell="tick"
            onPress={(range) => onTick(id, range)}
          />
        )}
      </td>
      {columns.map((column) => (
        <td key={column.id} className={column.className}>
          {column.cell(props)}
        </td>
      ))}
      <td className="pr-2">
        <MenuButton monitor={monitor} name={name} onMenu={onMenu} />
      </td>
    </tr>
  )
})

/** The menu itself is one for the whole table. */
function MenuButton({ monitor, name, onMenu }: { monitor: MonitorAnswer; name: string; onMenu: RowProps['onMenu'] }) {
  return (
    <button
      type="button"
      data-cell="menu"
      aria-label={`Actions for ${name} ${monitor.record_type}`}
      aria-haspopup="menu"
      onClick={(event) => onMenu(monitor, event.currentTarget)}
      className="grid size-8 place-items-center rounded-md text-faint hover:bg-sunken hover:text-ink"
    >
      <MoreHorizontal className="size-4" aria-hidden="true" />
    </button>
  )
}

/** The same monitor in two lines, for narrow screens. */
export const Lines = memo(function Lines(props: RowProps) {
  const { monitor, isCompact, at, now, isTicked, canChange, onTick, onOpen, onMenu } = props
  const row = useRef<HTMLLIElement>(null)
  useFlash(row, monitor)
  const { id } = monitor
  const name = ownerOf(monitor)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the link in it does the same with the keyboard
    <li
      ref={row}
      aria-posinset={at + 1}
      onClick={(event) => isForRow(event) && onOpen(id, event)}
      className={cx(
        'flex items-center gap-1 border-line px-1.5 not-last:border-b',
        isCompact ? 'h-13' : 'h-16',
        isTicked && 'bg-accent-wash',
      )}
    >
      {canChange && (
        <Tick label={`Select ${name} ${monitor.record_type}`} isOn={isTicked} onPress={(range) => onTick(id, range)} />
      )}
      <div className={cx('min-w-0 flex-1', !canChange && 'pl-2.5')}>
        <a href={monitorHref(id)} onClick={(event) => onOpen(id, event)} className="block truncate rounded-sm">
          <Name monitor={monitor} />
        </a>
        <p className="flex items-center gap-2 text-xs text-faint">
          <State state={monitor.state} isActive={monitor.is_active} />
          <span className="font-medium text-soft">{monitor.record_type}</span>
          <span className="truncate">
            <Since at={monitor.last_checked} now={now} />
          </span>
        </p>
      </div>
      <MenuButton monitor={monitor} name={name} onMenu={onMenu} />
    </li>
  )
})
