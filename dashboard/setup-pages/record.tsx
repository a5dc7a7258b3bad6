import { Check, CircleAlert, CircleCheck, Copy, Hourglass, type LucideIcon, RefreshCw } from 'lucide-react'
import { Fragment, type ReactNode, useState } from 'react'
import type { PublicRecord, RecordState } from '#contract/setup-pages.ts'
import { visible } from '#contract/visible-text.ts'
import { copyText } from '../ui/copy.tsx'
import { TONE_WASH, type Tone } from '../ui/state.tsx'

const STATE_DISPLAY: Record<RecordState, { label: string; tone: Tone; icon: LucideIcon }> = {
  waiting: { label: 'Not found yet', tone: 'idle', icon: Hourglass },
  wrong: { label: 'Not correct yet', tone: 'warn', icon: CircleAlert },
  found: { label: 'Found, being confirmed', tone: 'warn', icon: RefreshCw },
  valid: { label: 'Connected', tone: 'good', icon: CircleCheck },
  timed_out: { label: 'Not found in time', tone: 'warn', icon: CircleAlert },
}

/** A record is only "not found" if the name servers could be queried. */
function stateLabel({ state, found, checked }: PublicRecord): string {
  const isKnown = checked !== null && found !== null
  return state === 'waiting' && !isKnown ? 'Not checked yet' : STATE_DISPLAY[state].label
}

/** One record to create: the fields to enter, and its state. */
export function RecordCard({ record, ttl }: { record: PublicRecord; ttl: number }) {
  const { tone, icon: Icon } = STATE_DISPLAY[record.state]
  const { type, host, name, zone, values, notes } = record
  return (
    <section aria-label={`${type} record for ${name}`} className="rounded-lg border border-line bg-surface">
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-b border-line px-4 py-3">
        <h2 className="min-w-0 text-base font-semibold break-words">
          {type} record for <span className="font-mono text-[0.95em] break-all">{name}</span>
        </h2>
        <span
          className={`inline-flex items-center gap-1.5 rounded-full px-2.5 py-1 text-xs font-medium whitespace-nowrap ${TONE_WASH[tone]}`}
        >
          <Icon className="size-3.5 shrink-0" strokeWidth={2.25} aria-hidden="true" />
          {stateLabel(record)}
        </span>
      </header>
      <dl className="divide-y divide-line">
        <Line name="Type" value={type} />
        <Line name="Name" value={host}>
          <span className="text-xs text-faint">
            {host === '@'
              ? 'The domain itself. Some providers want the field empty, or the full name: '
              : 'If your provider wants the full name: '}
            <FullName name={name} />
          </span>
        </Line>
        {values.map(({ value, priority }, index) => (
          <Fragment key={value}>
            {priority !== null && <Line name="Priority" value={priority} />}
            <Line name={values.length > 1 ? `Value ${index + 1}` : 'Value'} value={value} />
          </Fragment>
        ))}
        <Line name="TTL" value={String(ttl)}>
          <span className="text-xs text-faint">Seconds. The default of your provider is fine too.</span>
        </Line>
      </dl>
      {notes.length > 0 && (
        <ul className="flex list-disc flex-col gap-1 border-t border-line py-3 pr-4 pl-8 text-sm text-soft">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <CurrentAnswers record={record} zone={zone} />
    </section>
  )
}

function FullName({ name }: { name: string }) {
  return (
    <span className="inline-flex items-center gap-0.5">
      <span className="font-mono break-all">{name}</span>
      <CopyButton text={name} label={`Copy full name ${name}`} />
    </span>
  )
}

function Line({ name, value, children }: { name: string; value: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col gap-x-4 gap-y-0.5 px-4 py-2.5 sm:flex-row">
      <dt className="w-20 shrink-0 pt-1 text-xs text-faint">{name}</dt>
      <dd className="flex min-w-0 flex-1 flex-col">
        <span className="flex items-start justify-between gap-2">
          <span className="min-w-0 pt-0.5 font-mono text-sm break-all">{visible(value)}</span>
          <CopyButton text={value} label={`Copy ${name.toLowerCase()} ${visible(value)}`} />
        </span>
        {children}
      </dd>
    </div>
  )
}

function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <button
      type="button"
      aria-label={label}
      onClick={copy}
      className="inline-grid size-7 shrink-0 place-items-center rounded-md text-soft hover:bg-sunken hover:text-ink"
    >
      {isCopied ? (
        <Check className="size-4 text-good" aria-hidden="true" />
      ) : (
        <Copy className="size-4" aria-hidden="true" />
      )}
      <span aria-live="polite" className="sr-only">
        {isCopied ? 'Copied' : ''}
      </span>
    </button>
  )
}

/** The current answers of the name servers, and what to change. */
function CurrentAnswers({ record, zone }: { record: PublicRecord; zone: string }) {
  const { state, found, unexpected, has_other_records } = record
  if (state === 'valid') return null
  const isEmpty = found === null || found.length === 0
  return (
    <div className="border-t border-line px-4 py-3 text-sm text-soft">
      {isEmpty ? (
        <p>{record.checked === null ? `Looking for the name servers of ${zone}.` : noRecordText(record)}</p>
      ) : (
        <>
          <p>The name servers of {zone} currently answer:</p>
          <ul className="mt-1 flex flex-col gap-0.5">
            {found.map((value) => (
              <li key={value} className="font-mono text-xs break-all">
                {visible(value)}
                {!has_other_records && unexpected.includes(value) && (
                  <span className="ml-2 font-sans text-bad">remove this one</span>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {record.advice.map((step) => (
        <p key={step} className="mt-2 break-words">
          {visible(step)}
        </p>
      ))}
    </div>
  )
}

function noRecordText({ state, found, zone }: PublicRecord): string {
  if (found === null && state === 'wrong')
    return `The DNS of ${zone} has an error, so the record cannot be read. Ask your DNS provider for help.`
  if (found === null) return `The name servers of ${zone} could not be reached. Zonewatch retries automatically.`
  return `The name servers of ${zone} have no such record yet.`
}
