import { Button } from './button.tsx'
import { Field, Input } from './field.tsx'
import { fieldError } from './problem.tsx'

const HOUR = 3_600_000
const SPANS = [
  ['Last hour', HOUR],
  ['24 hours', 24 * HOUR],
  ['7 days', 168 * HOUR],
] as const

/** What `datetime-local` fields hold. `until` may be empty: now. */
export type Period = { since: string; until: string }

export const lastDay = (): Period => lastMs(24 * HOUR)

const lastMs = (ms: number): Period => ({ since: localMinutes(Date.now() - ms), until: '' })

/** The times between which something was created. */
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
        {SPANS.map(([label, ms]) => (
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

/** What a `datetime-local` field holds for an instant: minutes, in the viewer's zone. `offset` as of Date: minutes behind UTC. */
export function localMinutes(instant: number, offset = new Date(instant).getTimezoneOffset()): string {
  return new Date(instant - offset * 60_000).toISOString().slice(0, 16)
}

/** The instant of what such a field holds, as the API takes it; undefined where it is empty. */
export function instantOf(local: string): string | undefined {
  return local === '' ? undefined : new Date(local).toISOString()
}
