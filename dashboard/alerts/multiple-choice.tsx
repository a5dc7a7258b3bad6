import { Checkbox } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'

type MultipleChoiceProps = {
  label: string
  hint?: string
  options: readonly { value: string; label: string }[] | undefined
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
  error: string | undefined
}

/** Some of a list. `options`: undefined while they load. */
export function MultipleChoice({ label, hint, options, chosen, onChange, error }: MultipleChoiceProps) {
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
              isChecked={chosen.includes(value)}
              onChange={(isSelected) =>
                onChange(isSelected ? [...chosen, value] : chosen.filter((each) => each !== value))
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
