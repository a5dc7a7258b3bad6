import { MoreHorizontal } from 'lucide-react'
import { type MouseEvent, memo, useRef } from 'react'
import type { MonitorAnswer } from '#contract/monitors.ts'
import { cx } from '../ui/class.ts'
import { State } from '../ui/state.tsx'
import { useFlash } from './list-flash.ts'
import { Name, Since, Tick, Values } from './list-parts.tsx'
import { ownerOf } from './list-query.ts'

export type RowProps = {
  monitor: MonitorAnswer
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

export const monitorHref = (id: string): string => `/dashboard/monitors/${id}`

/** Whether the press was meant for the row, not for a control in it. */
export const isForRow = ({ target }: MouseEvent): boolean => !(target as HTMLElement).closest('a, button, input, label')

export const Row = memo(function Row(props: RowProps) {
  const { monitor, at, now, group, isTicked, canChange, onTick, onOpen, onMenu } = props
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
        'h-12 scroll-mt-24 cursor-pointer lg:scroll-mt-10 border-line not-last:border-b',
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
      <td className="px-2">
        <span className="flex">
          <State state={monitor.state} isActive={monitor.is_active} />
        </span>
      </td>
      <td className="truncate px-3">
        <a
          href={monitorHref(id)}
          data-cell="name"
          title={name}
          onClick={(event) => onOpen(id, event)}
          className="rounded-sm -outline-offset-2 hover:underline"
        >
          <Name monitor={monitor} />
        </a>
      </td>
      <td className="px-3 text-xs font-medium text-soft">{monitor.record_type}</td>
      <td className="px-3 text-soft">
        <Values monitor={monitor} />
      </td>
      <td className="hidden truncate px-3 text-soft min-[90rem]:table-cell">{group}</td>
      <td className="truncate px-3 text-soft">
        <Since at={monitor.last_checked} now={now} />
      </td>
      <td className="hidden px-3 text-right text-soft tabular-nums xl:table-cell">
        {monitor.incidence_count.toLocaleString()}
      </td>
      <td className="pr-2">
        <MenuButton monitor={monitor} name={name} onMenu={onMenu} />
      </td>
    </tr>
  )
})

/** The menu itself is one for the whole table. */
export function MenuButton({
  monitor,
  name,
  onMenu,
}: {
  monitor: MonitorAnswer
  name: string
  onMenu: RowProps['onMenu']
}) {
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
  const { monitor, at, now, isTicked, canChange, onTick, onOpen, onMenu } = props
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
      className={cx('flex h-16 items-center gap-1 border-line px-1.5 not-last:border-b', isTicked && 'bg-accent-wash')}
    >
      {canChange && (
        <Tick label={`Select ${name} ${monitor.record_type}`} isOn={isTicked} onPress={(range) => onTick(id, range)} />
      )}
      <div className={cx('min-w-0 flex-1', !canChange && 'pl-2.5')}>
        <a href={monitorHref(id)} onClick={(event) => onOpen(id, event)} className="block truncate rounded-sm">
          <Name monitor={monitor} />
        </a>
        <p className="mt-0.5 flex items-center gap-2 text-xs text-faint">
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
