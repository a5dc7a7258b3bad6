import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Invoice } from '#contract/subscription.ts'
import type { Query } from '../api.ts'
import { Section } from '../ui/page.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { formatMoney } from './money.ts'
import { invoicesQuery } from './queries.ts'

const STATES: Record<Invoice['status'], { label: string; tone: Tone }> = {
  draft: { label: 'Draft', tone: 'idle' },
  open: { label: 'Open', tone: 'warn' },
  paid: { label: 'Paid', tone: 'good' },
  uncollectible: { label: 'Uncollectible', tone: 'bad' },
  void: { label: 'Void', tone: 'idle' },
}

export function Invoices() {
  const [cursor, setCursor] = useState<Query>({})
  const list = useQuery(invoicesQuery(cursor))
  return (
    <Section title="Invoices" isFlush>
      <PagedTable
        label="Invoices"
        columns={COLUMNS}
        list={list}
        skeletonLines={3}
        onPage={setCursor}
        empty={<p className="px-4 py-8 text-center text-sm text-faint">No invoices yet.</p>}
      />
    </Section>
  )
}

const COLUMNS: Column<Invoice>[] = [
  {
    id: 'number',
    header: 'Number',
    meta: { cellClassName: 'font-medium whitespace-nowrap' },
    cell: ({ row }) => row.original.number ?? 'no number yet',
  },
  {
    id: 'created',
    header: 'Date',
    meta: { cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.created} isExact />,
  },
  {
    id: 'status',
    header: 'Status',
    cell: rowCell(({ status }) => <Badge tone={STATES[status].tone} label={STATES[status].label} />),
  },
  {
    id: 'total',
    header: 'Total',
    meta: { className: 'text-right', cellClassName: 'tabular-nums' },
    cell: rowCell(({ total, currency }) => formatMoney(total, currency)),
  },
  {
    id: 'documents',
    header: 'Documents',
    meta: { isHeaderHidden: true, cellClassName: 'text-right whitespace-nowrap' },
    cell: rowCell(({ url, pdf, status }) => (
      <span className="inline-flex gap-3">
        {url && <Document href={url}>{status === 'open' ? 'Pay' : 'View'}</Document>}
        {pdf && <Document href={pdf}>PDF</Document>}
      </span>
    )),
  },
]

const Document = ({ href, children }: { href: string; children: string }) => (
  <a href={href} target="_blank" rel="noreferrer" className="rounded-sm text-accent-ink hover:underline">
    {children}
  </a>
)
