import { Check, CircleDashed, Minus, Plus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { ValueDifference } from '#contract/dashboard.ts'
import { visible } from '#contract/visible-text.ts'
import { type Parts, partsOf } from '../../events/value-diff.ts'
import { ValueText } from '../../events/value-text.tsx'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Section } from '../../ui/page.tsx'
import { Cells, type Column, rowCell, TableFrame, type TableRow, useTableModel } from '../../ui/table.tsx'
import type { MonitorDetails } from '../queries.ts'
import { hasStaleValues, pairValues, type ValuePair } from './pairs.ts'

const RecordToPaste = lazy(async () => ({ default: (await import('./record-to-paste.tsx')).RecordToPaste }))

const MAX_COLLAPSED = 15

/** Expected and current values side by side. */
export function MonitorRecords({ monitor, difference }: { monitor: MonitorDetails; difference: ValueDifference }) {
  const { expected_value, current_value, is_exact_match, state } = monitor
  const pairs = pairValues(expected_value, current_value ?? [], difference)
  const isCompared = current_value !== null && state !== 'UNSET' && !hasStaleValues(state)
  const [isExpanded, setExpanded] = useState(false)
  const liveHeader = hasStaleValues(state) && current_value !== null ? 'Last known records' : 'Live'
  const lines: Line[] = isCompared ? pairs : pairs.map((pair) => ({ ...pair, mark: 'unknown' }))
  const table = useTableModel({
    columns: columnsWith(liveHeader, changedParts(difference)),
    data: lines.slice(0, isExpanded ? undefined : MAX_COLLAPSED),
  })
  return (
    <Section title="Expected and live records" hint={is_exact_match ? EXACT : FLEXIBLE} isFlush>
      <TableFrame
        table={table}
        label="Expected and live records"
        hasCustomDisplay
        className="block sm:table"
        headClassName="hidden border-b border-line sm:table-header-group"
        bodyClassName="block divide-y divide-line sm:table-row-group"
      >
        {table.getRowModel().rows.map((row) => (
          // biome-ignore lint/a11y/noRedundantRoles: CSS display removes the role in some browsers
          <tr key={row.id} role="row" className="flex flex-col gap-1.5 px-4 py-3 sm:table-row">
            <Cells row={row} hasCustomDisplay className="sm:px-4 sm:py-2.5 sm:align-top" />
          </tr>
        ))}
      </TableFrame>
      {pairs.length > MAX_COLLAPSED && (
        <div className="border-t border-line px-4 py-2.5">
          <Button
            size="sm"
            variant="quiet"
            aria-expanded={isExpanded}
            onClick={() => setExpanded(!isExpanded)}
            className="-ml-2.5"
          >
            {isExpanded ? 'Show fewer' : `Show all ${pairs.length}`}
          </Button>
        </div>
      )}
      {difference.record && state !== 'VALID' && (
        <Suspense>
          <RecordToPaste monitor={monitor} record={difference.record} />
        </Suspense>
      )}
      {!isCompared && <p className="border-t border-line px-4 py-2.5 text-xs text-faint">{notComparedText(monitor)}</p>}
    </Section>
  )
}

const EXACT = 'Exact: these records and no others.'
const FLEXIBLE = 'Flexible: these records, others allowed.'

function notComparedText({ state, current_value }: MonitorDetails): string {
  if (state === 'UNSET') return 'Not compared yet: no check has had a certain result.'
  if (current_value === null) return 'No check has returned records yet.'
  return 'The last check returned no records. The live records are from an earlier check.'
}

type RowMark = ValuePair['mark'] | 'unknown'
const MARK_DISPLAY: Record<RowMark, { label: string; icon: typeof Check; className: string }> = {
  met: { label: 'As expected', icon: Check, className: 'text-good' },
  missing: { label: 'Missing', icon: Minus, className: 'text-bad' },
  extra: { label: 'Unexpected', icon: Plus, className: 'text-bad' },
  allowed: { label: 'Additional', icon: Plus, className: 'text-faint' },
  unknown: { label: 'Not compared', icon: CircleDashed, className: 'text-idle' },
}

type Line = Omit<ValuePair, 'mark'> & { mark: RowMark }

const isSame = ({ expected, current }: Line) =>
  expected.length === 1 && current.length === 1 && expected[0] === current[0]

const CELL = 'flex gap-3 sm:table-cell'

const columnsWith = (liveHeader: string, changes: Changes): Column<Line>[] => [
  {
    id: 'expected',
    header: 'Expected',
    meta: {
      headerClassName: 'w-1/2',
      cellClassName: ({ original }: TableRow<Line>) => cx(CELL, original.expected.length === 0 && 'max-sm:hidden'),
    },
    cell: rowCell((line) => (
      <ValueList label={isSame(line) ? 'Both' : 'Expected'} values={line.expected} changes={changes} />
    )),
  },
  {
    id: 'current',
    header: liveHeader,
    meta: {
      headerClassName: 'w-1/2',
      cellClassName: ({ original: line }: TableRow<Line>) =>
        cx(CELL, (isSame(line) || line.current.length === 0) && 'max-sm:hidden'),
    },
    cell: ({ row }) => <ValueList label="Current" values={row.original.current} changes={changes} />,
  },
  {
    id: 'comparison',
    header: 'Comparison',
    meta: { isHeaderHidden: true, cellClassName: 'order-first' },
    cell: ({ row }) => <MarkLabel mark={row.original.mark} />,
  },
]

function MarkLabel({ mark }: Pick<Line, 'mark'>) {
  const { label, icon: Icon, className } = MARK_DISPLAY[mark]
  return (
    <span className={cx('flex h-6 items-center gap-1.5 text-xs font-medium whitespace-nowrap', className)}>
      <Icon className="size-3.5" strokeWidth={2.5} aria-hidden="true" /> {label}
    </span>
  )
}

type ValueListProps = { label: string; values: string[]; changes: Changes }

function ValueList({ label, values, changes }: ValueListProps) {
  return (
    <>
      <span className="w-16 shrink-0 py-0.5 text-xs text-faint sm:hidden">{label}</span>
      {values.length === 0 ? (
        <span className="text-faint">
          <span aria-hidden="true">–</span>
          <span className="sr-only">none</span>
        </span>
      ) : (
        <ul className="flex min-w-0 flex-1 flex-col gap-1">
          {values.map((value) => (
            <li key={value} className="group flex items-start gap-1">
              <span className="min-w-0 py-0.5 font-mono text-xs leading-5">
                <ValueText value={value} parts={changes.get(value)} />
              </span>
              <span className="-my-0.5 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 max-sm:hidden">
                <CopyButton text={value} label={`Copy ${visible(value)}`} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

/** The differing parts, if one value replaced another. */
type Changes = ReadonlyMap<string, Parts>

function changedParts({ missing, extra }: ValueDifference): Changes {
  const parts = missing.length === 1 && extra.length === 1 ? partsOf(missing[0]!, extra[0]!) : undefined
  return new Map(parts ? [[missing[0]!, parts[0]] as const, [extra[0]!, parts[1]] as const] : [])
}
