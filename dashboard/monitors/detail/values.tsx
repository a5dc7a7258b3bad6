import { Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { type MonitorRecordType, RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { Button } from '../../ui/button.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { fieldError } from '../../ui/problem.tsx'

const MAX_VALUES = 10

type ValuesProps = {
  values: readonly string[]
  recordType: MonitorRecordType
  problem: unknown
  onChange: (values: string[]) => void
}

/** Inputs for one to ten expected values. */
export function MonitorValues({ values, recordType, problem, onChange }: ValuesProps) {
  const list = useRef<HTMLFieldSetElement>(null)
  const valueErrors = values.map((_, index) => exactError(problem, `expected_value.${index}`))
  const listError = valueErrors.every((error) => error === undefined)
    ? fieldError(problem, 'expected_value')
    : undefined
  const add = () => {
    onChange([...values, ''])
    setTimeout(() => list.current?.querySelectorAll('input')[values.length]?.focus())
  }
  return (
    <fieldset ref={list} className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">Expected values</legend>
      {values.map((value, index) => (
        <div key={index} className="flex items-start gap-1">
          <Field
            label={<span className="sr-only">Value {index + 1}</span>}
            error={valueErrors[index]}
            className="flex-1"
          >
            <Input
              isCode
              value={value}
              placeholder={RECORD_TYPE_TEXTS[recordType].example}
              aria-invalid={listError !== undefined && index === 0}
              onChange={(event) => onChange(values.with(index, event.target.value))}
            />
          </Field>
          {values.length > 1 && (
            <Button
              variant="quiet"
              isSquare
              className="mt-1.5"
              aria-label={`Remove value ${index + 1}`}
              onClick={() => onChange(values.filter((_, other) => other !== index))}
            >
              <X />
            </Button>
          )}
        </div>
      ))}
      {listError !== undefined && (
        <p role="alert" className="text-xs text-bad">
          {listError}
        </p>
      )}
      {valueErrors.every((error) => error === undefined) && listError === undefined && (
        <p className="text-xs text-faint">{RECORD_TYPE_TEXTS[recordType].write}</p>
      )}
      {values.length < MAX_VALUES && (
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
