import { Plus, RotateCcw, X } from 'lucide-react'
import { useId } from 'react'
import type { Found } from '#contract/dashboard.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { Button } from '../ui/button.tsx'
import { Field, TextArea } from '../ui/field.tsx'
import { RadioGroup } from '../ui/radio-group.tsx'
import { type Draft, draftOf, isAsFound, MOST_VALUES, mostOf, withValue } from './new-expectation.ts'
import { modeWords } from './new-words.ts'

type FieldsProps = {
  draft: Draft
  /** What stands there now. */
  found: Found
  onChange: (draft: Draft) => void
  /** By the path below the monitor: `expected_value.2`. */
  errorAt: (path: string) => string | undefined
}

/** What a record should be: its values and how strictly they are meant. */
export function ExpectationFields({ draft, found, onChange, errorAt }: FieldsProps) {
  const { type, values, isExact } = draft
  const hasOther = found.values.length > 0 && !isAsFound(draft, found)
  return (
    <div className="flex flex-col gap-4">
      <Values draft={draft} onChange={(next) => onChange({ ...draft, values: next })} errorAt={errorAt} />
      <p className="text-xs text-faint">
        {RECORD_TYPE_TEXTS[type].write}{' '}
        {hasOther || found.values.length === 0
          ? 'The records need not exist yet. The monitor reports what is missing until they do.'
          : 'Edit the values if the records are going to change.'}
      </p>
      {found.values.length > MOST_VALUES && (
        <p className="text-xs text-warn">
          {found.values.length} records found. A monitor can expect at most {MOST_VALUES}. Keep the ones that must
          exist.
        </p>
      )}
      {hasOther && (
        <Button size="sm" variant="quiet" className="self-start" onClick={() => onChange(draftOf(found))}>
          <RotateCcw /> Use live records
        </Button>
      )}
      <RadioGroup
        label="Match"
        value={isExact ? 'exact' : 'flexible'}
        options={[
          { value: 'exact', label: 'Exact', hint: modeWords(type, values, true) },
          { value: 'flexible', label: 'Flexible', hint: modeWords(type, values, false) },
        ]}
        onChange={(mode) => onChange({ ...draft, isExact: mode === 'exact' })}
      />
    </div>
  )
}

type ValuesProps = {
  draft: Draft
  onChange: (values: string[]) => void
  errorAt: (path: string) => string | undefined
}

function Values({ draft, onChange, errorAt }: ValuesProps) {
  const { type, values } = draft
  const list = useId()
  const ofAll = errorAt('expected_value')
  const remove = (at: number) => onChange(values.toSpliced(at, 1))
  return (
    <fieldset id={list} className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">Expected values</legend>
      {values.map((value, at) => (
        <div key={at} className="flex items-start gap-1.5">
          <Field
            label={<span className="sr-only">{`Expected value ${at + 1} of ${type}`}</span>}
            error={errorAt(`expected_value.${at}`)}
            className="-mt-1.5 min-w-0 flex-1"
          >
            <TextArea
              isCode
              rows={1}
              className="field-sizing-content min-h-9! resize-none leading-4.5 break-all"
              maxLength={1_100}
              // One that has just been added waits to be written.
              autoFocus={value === ''}
              placeholder={RECORD_TYPE_TEXTS[type].example}
              value={value}
              onChange={(event) => onChange(withValue(draft, at, event.target.value))}
              onKeyDown={(event) => {
                if (event.key === 'Enter') event.preventDefault()
              }}
            />
          </Field>
          {values.length > 1 && (
            <Button
              variant="quiet"
              isSquare
              aria-label={`Remove value ${at + 1}`}
              onClick={(event) => {
                // The button goes with its value.
                event.currentTarget.closest('fieldset')?.querySelector('textarea')?.focus()
                remove(at)
              }}
            >
              <X />
            </Button>
          )}
        </div>
      ))}
      {ofAll && !values.some((_, at) => errorAt(`expected_value.${at}`)) && (
        <p role="alert" className="text-xs text-bad">
          {ofAll}
        </p>
      )}
      {values.length < mostOf(draft) && (
        <Button size="sm" variant="quiet" className="self-start" onClick={() => onChange([...values, ''])}>
          <Plus /> Add value
        </Button>
      )}
    </fieldset>
  )
}
