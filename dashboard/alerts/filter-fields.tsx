import { Checkbox, Field, Input } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'

type CheckboxListProps = {
  label: string
  hint?: string
  options: readonly { value: string; label: string }[] | undefined
  selected: readonly string[]
  onChange: (selected: string[]) => void
  error: string | undefined
}

/** Selects several options. `options` is undefined while they load. */
export function CheckboxList({ label, hint, options, selected, onChange, error }: CheckboxListProps) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1.5 text-sm font-medium">{label}</legend>
      <div className="flex max-h-36 flex-col gap-2 overflow-y-auto rounded-md border border-line p-3">
        {!options ? (
          <Skeleton lines={2} />
        ) : (
          options.map(({ value, label: text }) => (
            <Checkbox
              key={value}
              label={text}
              isChecked={selected.includes(value)}
              onChange={(isSelected) =>
                onChange(isSelected ? [...selected, value] : selected.filter((other) => other !== value))
              }
            />
          ))
        )}
      </div>
      {error ? (
        <p role="alert" className="mt-1.5 text-xs text-bad first-letter:uppercase">
          {error}
        </p>
      ) : (
        hint && <p className="mt-1.5 text-xs text-faint">{hint}</p>
      )}
    </fieldset>
  )
}

type NamePatternProps = { value: string; onChange: (value: string) => void; error: string | undefined }

export function NamePatternField({ value, onChange, error }: NamePatternProps) {
  return (
    <Field label="Name pattern" isOptional hint="* stands for any characters." error={error}>
      <Input
        isCode
        maxLength={253}
        placeholder="*.example.com"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Field>
  )
}
