import { Server, Waypoints } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { DiagnosisPath } from '#contract/diagnosis.ts'
import { visible } from '#contract/visible-text.ts'
import { cx } from '../../ui/class-names.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Section, Skeleton } from '../../ui/page.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, DataTable, rowCell } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import type { MonitorDetails } from '../queries.ts'
import { EvidenceDate } from './evidence-date.tsx'
import { answerText } from './evidence-text.ts'
import { agreementText, cachedUntil, groupByServer, type QueriedServer } from './servers.ts'

const Evidence = lazy(async () => ({ default: (await import('./evidence.tsx')).Evidence }))

/** A row for each server that was asked last, with its answer. A row opens the exchanges with its server. */
export function ServerMatrix({ monitor: { diagnosis, last_checked } }: { monitor: MonitorDetails }) {
  const [open, setOpen] = useState<QueriedServer>()
  const evidence = [diagnosis?.latest, diagnosis].find((each) => each && each.paths.length > 0)
  if (!evidence) return null
  const { servers, ...counts } = groupByServer(evidence.paths)
  const rows = servers.map((server) => ({ ...server, id: `${server.path} ${server.name} ${server.server}` }))
  return (
    <Section
      title="Servers"
      hint={
        <>
          {agreementText(counts)} <EvidenceDate at={evidence.at} lastChecked={last_checked} />
        </>
      }
      isFlush
      className="min-w-0"
    >
      <DataTable label="Servers asked" columns={columnsWith(setOpen)} rows={rows} isClickable />
      {open && (
        <Dialog isOpen isWide onClose={() => setOpen(undefined)} title={visible(open.name ?? open.server)}>
          <Suspense fallback={<Skeleton lines={3} />}>
            <div className="rounded-lg border border-line">
              <Evidence paths={open.exchanges} />
            </div>
          </Suspense>
        </Dialog>
      )}
    </Section>
  )
}

type Row = QueriedServer & { id: string }

const columnsWith = (onOpen: (server: QueriedServer) => void): Column<Row>[] => [
  {
    id: 'server',
    header: 'Server',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((row) => {
      const [Icon, kind] = row.path === 'recursive' ? [Waypoints, 'Resolver'] : [Server, 'Name server']
      return (
        <button
          type="button"
          onClick={() => onOpen(row)}
          className="flex items-center gap-2 rounded-sm text-left after:absolute after:inset-0 hover:underline"
        >
          <Icon className="size-4 shrink-0 text-faint" strokeWidth={1.9} aria-hidden="true" />
          <span className="max-w-40 truncate font-mono text-xs" title={row.name ?? row.server}>
            <span className="sr-only">{kind} </span>
            {row.name ?? row.server}
          </span>
        </button>
      )
    }),
  },
  {
    id: 'answer',
    header: 'Answer',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((row) => <AnswerChip row={row} />),
  },
  {
    id: 'rcode',
    header: 'Code',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'font-mono text-xs' },
    cell: rowCell(({ answers }) => {
      const { rcode, flags } = answers.at(-1)!
      return (
        <>
          {rcode ?? '–'}
          {flags.length > 0 && <span className="block text-faint">{flags.join(' ')}</span>}
        </>
      )
    }),
  },
  {
    id: 'ttl',
    header: 'TTL',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-xs whitespace-nowrap tabular-nums' },
    cell: rowCell(({ answers }) => (
      <>
        {ttlText(answers.at(-1)!)}
        <span className="block text-faint">{Math.max(1, Math.round(answers.at(-1)!.ms))} ms</span>
      </>
    )),
  },
]

function ttlText(path: DiagnosisPath): string {
  const { ttl, chain } = answerText(path)
  const shown = ttl ?? chain[0]?.ttl
  return shown === undefined ? '–' : `${shown} s`
}

const MAX_VALUES = 3

function AnswerChip({ row: { path, answers, standing } }: { row: Row }) {
  const last = answers.at(-1)!
  const { text, values, chain } = answerText(last)
  const shown = [...chain.slice(-1).map(({ target }) => target || '.'), ...values]
  const until = path === 'recursive' && standing === 'differs' ? cachedUntil(last) : undefined
  const isSilent = standing === undefined
  return (
    <div className="flex min-w-0 flex-col items-start gap-1 text-xs">
      <span
        className={cx(
          'max-w-36 truncate rounded-md border px-1.5 py-0.5',
          shown.length > 0 && 'font-mono',
          standing === 'agrees' && 'border-line bg-sunken',
          standing === 'differs' && 'border-transparent bg-warn-wash text-warn',
          isSilent && 'border-line text-faint',
        )}
        title={visible(shown.join(', ') || text)}
      >
        {shown.length === 0 && visible(text)}
        {shown.slice(0, MAX_VALUES).map((value, index) => (
          <span key={index} className="block truncate">
            {visible(value)}
          </span>
        ))}
        {shown.length > MAX_VALUES && `+ ${shown.length - MAX_VALUES}`}
      </span>
      {standing === 'differs' &&
        (until === undefined ? (
          <Badge tone="warn" label="Differs" />
        ) : (
          <span className="text-warn">
            from its cache, {Date.parse(until) > Date.now() ? 'until' : 'which expired'}{' '}
            <Time at={until} isExact="clock" />
          </span>
        ))}
    </div>
  )
}
