import { Button } from './button.tsx'
import { Field, Input } from './field.tsx'
import { fieldError } from './problem.tsx'

const HOUR = 3_600_000
const PRESETS = [
  ['Last hour', HOUR],
  ['24 hours', 24 * HOUR],
  ['7 days', 168 * HOUR],
] as const

/** Values of `datetime-local` inputs. An empty `until` means now. */
export type Period = { since: string; until: string }

export const lastDay = (): Period => lastMs(24 * HOUR)

const lastMs = (ms: number): Period => ({ since: toLocalInput(Date.now() - ms), until: '' })

/** Inputs for a period of creation times, with presets. */
export function PeriodFields({
  period: { since, until },
  onChange,
  problem,
}: {
  period: Period
  onChange: (period: Period) => void
  problem: unknown
}) {
  return (
    <>
      <div className="flex flex-wrap gap-2">
        {PRESETS.map(([label, ms]) => (
          <Button key={label} size="sm" onClick={() => onChange(lastMs(ms))}>
            {label}
          </Button>
        ))}
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Created from" error={fieldError(problem, 'since')}>
          <Input
            type="datetime-local"
            required
            value={since}
            onChange={(event) => onChange({ since: event.target.value, until })}
          />
        </Field>
        <Field label="Until" isOptional hint="Leave empty for now." error={fieldError(problem, 'until')}>
          <Input
            type="datetime-local"
            value={until}
            onChange={(event) => onChange({ since, until: event.target.value })}
          />
        </Field>
      </div>
    </>
  )
}

type FromToProps = {
  form: { from: string; to: string }
  set: (part: { from?: string; to?: string }) => void
  problem: unknown
  toHint?: string
}

/** When something begins and ends: two `datetime-local` inputs. */
export function FromToFields({ form: { from, to }, set, problem, toHint }: FromToProps) {
  return (
    <>
      <Field label="From" hint={`Your time: ${localTimeZone()}.`} error={fieldError(problem, 'from')}>
        <Input type="datetime-local" required value={from} onChange={(event) => set({ from: event.target.value })} />
      </Field>
      <Field label="To" hint={toHint} error={fieldError(problem, 'to')}>
        <Input type="datetime-local" required value={to} onChange={(event) => set({ to: event.target.value })} />
      </Field>
    </>
  )
}

/** A `datetime-local` value to read. */
export const localText = (local: string): string => local.replace('T', ' ')

/** The value of a `datetime-local` input, to the minute, in the user's time zone. `offset` is in minutes behind UTC, as in Date. */
export function toLocalInput(instant: number, offset = new Date(instant).getTimezoneOffset()): string {
  return new Date(instant - offset * 60_000).toISOString().slice(0, 16)
}

/** The ISO date-time of a `datetime-local` value; undefined when it is empty. */
export function fromLocalInput(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString()
}

export const localTimeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** The next full hour, and this many hours later. */
export function nextHours(hours: number): { from: string; to: string } {
  const from = Math.ceil(Date.now() / HOUR) * HOUR
  return { from: toLocalInput(from), to: toLocalInput(from + hours * HOUR) }
}
