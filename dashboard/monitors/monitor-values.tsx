import { Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'

const MOST = 10

type ValuesProps = {
  values: readonly string[]
  recordType: MonitorRecordType
  problem: unknown
  onChange: (values: string[]) => void
}

/** One to ten expected values, a line each. */
export function MonitorValues({ values, recordType, problem, onChange }: ValuesProps) {
  const list = useRef<HTMLFieldSetElement>(null)
  const own = values.map((_, at) => exactError(problem, `expected_value.${at}`))
  const rest = own.every((error) => error === undefined) ? fieldError(problem, 'expected_value') : undefined
  const add = () => {
    onChange([...values, ''])
    setTimeout(() => list.current?.querySelectorAll('input')[values.length]?.focus())
  }
  return (
    <fieldset ref={list} className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">Expected values</legend>
      {values.map((value, at) => (
        <div key={at} className="flex items-start gap-1">
          <Field label={<span className="sr-only">Value {at + 1}</span>} error={own[at]} className="flex-1">
            <Input
              isCode
              value={value}
              placeholder={RECORD_TYPE_TEXTS[recordType].example}
              aria-invalid={rest !== undefined && at === 0}
              onChange={(event) => onChange(values.with(at, event.target.value))}
            />
          </Field>
          {values.length > 1 && (
            <Button
              variant="quiet"
              isSquare
              aria-label={`Remove value ${at + 1}`}
              onClick={() => onChange(values.filter((_, place) => place !== at))}
            >
              <X />
            </Button>
          )}
        </div>
      ))}
      {rest !== undefined && (
        <p role="alert" className="text-xs text-bad">
          {rest}
        </p>
      )}
      {own.every((error) => error === undefined) && rest === undefined && (
        <p className="text-xs text-faint">{RECORD_TYPE_TEXTS[recordType].write}</p>
      )}
      {values.length < MOST && (
        <div>
          <Button size="sm" variant="quiet" className="-ml-2.5" onClick={add}>
            <Plus /> Add value
          </Button>
        </div>
      )}
    </fieldset>
  )
}

function exactError(problem: unknown, path: string): string | undefined {
  return (problem as { errors?: Record<string, string> } | undefined)?.errors?.[path]
}
