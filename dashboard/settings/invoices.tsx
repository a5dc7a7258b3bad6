import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Invoice } from '#contract/subscription.ts'
import type { Query } from '../api.ts'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { Cell, Head, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { moneyText } from './money.ts'
import { invoicesQuery } from './queries.ts'

const STATES: Record<Invoice['status'], { word: string; tone: Tone }> = {
  draft: { word: 'Draft', tone: 'idle' },
  open: { word: 'Open', tone: 'warn' },
  paid: { word: 'Paid', tone: 'good' },
  uncollectible: { word: 'Uncollectible', tone: 'bad' },
  void: { word: 'Void', tone: 'idle' },
}

export function Invoices() {
  const [cursor, setCursor] = useState<Query>({})
  const { data: page, error, refetch } = useQuery(invoicesQuery(cursor))
  return (
    <Section title="Invoices" isFlush>
      {error && !page ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : !page ? (
        <Skeleton lines={3} className="p-4" />
      ) : page.data.length === 0 ? (
        <p className="px-4 py-8 text-center text-sm text-faint">No invoices yet.</p>
      ) : (
        <Table
          label="Invoices"
          head={
            <>
              <Head>Number</Head>
              <Head>Date</Head>
              <Head>Status</Head>
              <Head className="text-right">Total</Head>
              <Head hidden="Documents" />
            </>
          }
        >
          {page.data.map((invoice) => (
            <Line key={invoice.id} invoice={invoice} />
          ))}
        </Table>
      )}
      <Pager page={page} onAfter={(after) => setCursor({ after })} onBefore={(before) => setCursor({ before })} />
    </Section>
  )
}

function Line({ invoice: { number, created, status, total, currency, url, pdf } }: { invoice: Invoice }) {
  const { word, tone } = STATES[status]
  return (
    <tr>
      <Cell className="font-medium whitespace-nowrap">{number ?? 'no number yet'}</Cell>
      <Cell className="text-soft">
        <Time at={created} isExact />
      </Cell>
      <Cell>
        <Badge tone={tone}>{word}</Badge>
      </Cell>
      <Cell className="text-right tabular-nums">{moneyText(total, currency)}</Cell>
      <Cell className="text-right whitespace-nowrap">
        <span className="inline-flex gap-3">
          {url && <Document href={url}>{status === 'open' ? 'Pay' : 'View'}</Document>}
          {pdf && <Document href={pdf}>PDF</Document>}
        </span>
      </Cell>
    </tr>
  )
}

const Document = ({ href, children }: { href: string; children: string }) => (
  <a href={href} target="_blank" rel="noreferrer" className="rounded-sm text-accent-ink hover:underline">
    {children}
  </a>
)
