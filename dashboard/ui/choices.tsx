import { type ReactNode, useId } from 'react'
import { cx } from './class.ts'

export type Choice<T extends string> = { value: T; label: ReactNode; hint?: ReactNode }

type ChoicesProps<T extends string> = {
  label: ReactNode
  value: T
  choices: readonly Choice<T>[]
  onChange: (value: T) => void
  className?: string | undefined
}

/** One of two or three that need a sentence each; a Select hides them. */
export function Choices<T extends string>({ label, value, choices, onChange, className }: ChoicesProps<T>) {
  const name = useId()
  return (
    <fieldset className={cx('flex min-w-0 flex-col gap-2', className)}>
      <legend className="mb-1.5 text-sm font-medium text-ink">{label}</legend>
      {choices.map((choice) => (
        <label key={choice.value} className="flex items-start gap-2.5">
          <input
            type="radio"
            name={name}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
            className="mt-0.5 size-4 shrink-0 accent-accent"
          />
          <span className="min-w-0">
            <span className="block text-sm">{choice.label}</span>
            {choice.hint && <span className="block text-xs wrap-anywhere text-faint">{choice.hint}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
