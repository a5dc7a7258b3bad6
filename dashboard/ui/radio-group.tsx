import { type ReactNode, useId } from 'react'
import { cx } from './class-names.ts'

export type RadioOption<T extends string> = { value: T; label: ReactNode; hint?: ReactNode }

type RadioGroupProps<T extends string> = {
  label: ReactNode
  value: T
  options: readonly RadioOption<T>[]
  onChange: (value: T) => void
  className?: string | undefined
}

/** For two or three options that need a sentence each. A Select would hide the sentences. */
export function RadioGroup<T extends string>({ label, value, options, onChange, className }: RadioGroupProps<T>) {
  const name = useId()
  return (
    <fieldset className={cx('flex min-w-0 flex-col gap-2', className)}>
      <legend className="mb-1.5 text-sm font-medium text-ink">{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="flex items-start gap-2.5">
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="mt-0.5 size-4 shrink-0 accent-accent"
          />
          <span className="min-w-0">
            <span className="block text-sm">{option.label}</span>
            {option.hint && <span className="block text-xs wrap-anywhere text-faint">{option.hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
