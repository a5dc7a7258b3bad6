import { Plus, RotateCcw, X } from 'lucide-react'
import { useId } from 'react'
import type { LookupResult } from '#contract/dashboard.ts'
import { RECORD_TYPE_TEXTS } from '#contract/record-types.ts'
import { Button } from '../../ui/button.tsx'
import { Field, TextArea } from '../../ui/field.tsx'
import { RadioGroup } from '../../ui/radio-group.tsx'
import { matchText } from '../text.ts'
import { type Draft, MAX_VALUES, matchesLiveRecords, maxValues, proposedDraft, setValue } from './expectation.ts'

type FieldsProps = {
  draft: Draft
  /** The live records. */
  found: LookupResult
  onChange: (draft: Draft) => void
  /** The error at a path of the monitor, for example `expected_value.2`. */
  errorAt: (path: string) => string | undefined
}

/** Expected values and match mode. */
export function ExpectationFields({ draft, found, onChange, errorAt }: FieldsProps) {
  const { type, values, isExact } = draft
  const isEdited = found.values.length > 0 && !matchesLiveRecords(draft, found)
  return (
    <div className="flex flex-col gap-4">
      <Values draft={draft} onChange={(next) => onChange({ ...draft, values: next })} errorAt={errorAt} />
      <p className="text-xs text-faint">
        {RECORD_TYPE_TEXTS[type].write}{' '}
        {isEdited || found.values.length === 0
          ? 'The records need not exist yet. The monitor reports what is missing until they do.'
          : 'Edit the values if the records are going to change.'}
      </p>
      {found.values.length > MAX_VALUES && (
        <p className="text-xs text-warn">
          {found.values.length} records found. A monitor can expect at most {MAX_VALUES}. Keep the ones that must exist.
        </p>
      )}
      {isEdited && (
        <Button size="sm" variant="quiet" className="self-start" onClick={() => onChange(proposedDraft(found))}>
          <RotateCcw /> Use live records
        </Button>
      )}
      <RadioGroup
        label="Match"
        value={isExact ? 'exact' : 'flexible'}
        options={[
          { value: 'exact', label: 'Exact', hint: matchText(type, values, true) },
          { value: 'flexible', label: 'Flexible', hint: matchText(type, values, false) },
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
  const listError = errorAt('expected_value')
  const remove = (index: number) => onChange(values.toSpliced(index, 1))
  return (
    <fieldset id={list} className="flex min-w-0 flex-col gap-2">
      <legend className="mb-1.5 text-sm font-medium">Expected values</legend>
      {values.map((value, index) => (
        <div key={index} className="flex items-start gap-1.5">
          <Field
            label={<span className="sr-only">{`Expected value ${index + 1} of ${type}`}</span>}
            error={errorAt(`expected_value.${index}`)}
            className="-mt-1.5 min-w-0 flex-1"
          >
            <TextArea
              isCode
              rows={1}
              className="field-sizing-content min-h-9! resize-none leading-4.5 break-all"
              maxLength={1_100}
              // A value that was just added.
              autoFocus={value === ''}
              placeholder={RECORD_TYPE_TEXTS[type].example}
              value={value}
              onChange={(event) => onChange(setValue(draft, index, event.target.value))}
              onKeyDown={(event) => {
                if (event.key === 'Enter') event.preventDefault()
              }}
            />
          </Field>
          {values.length > 1 && (
            <Button
              variant="quiet"
              isSquare
              aria-label={`Remove value ${index + 1}`}
              onClick={(event) => {
                // The button is removed with its value.
                event.currentTarget.closest('fieldset')?.querySelector('textarea')?.focus()
                remove(index)
              }}
            >
              <X />
            </Button>
          )}
        </div>
      ))}
      {listError && !values.some((_, index) => errorAt(`expected_value.${index}`)) && (
        <p role="alert" className="text-xs text-bad">
          {listError}
        </p>
      )}
      {values.length < maxValues(draft) && (
        <Button size="sm" variant="quiet" className="self-start" onClick={() => onChange([...values, ''])}>
          <Plus /> Add value
        </Button>
      )}
    </fieldset>
  )
}
