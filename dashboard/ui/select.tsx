import { Select as Base } from '@base-ui/react/select'
import { Check, ChevronsUpDown } from 'lucide-react'
import type { ReactNode } from 'react'
import { cx } from './class-names.ts'

export type Option<T extends string> = { value: T; label: ReactNode; hint?: string }

/** The options, with the current value even if it is not in the list. */
export const withCurrent = (options: readonly Option<string>[], value: string): Option<string>[] =>
  value === '' || options.some((option) => option.value === value)
    ? [...options]
    : [...options, { value, label: value }]

type SelectProps<T extends string> = {
  value: T
  options: readonly Option<T>[]
  onChange: (value: T) => void
  /** For a Select without a Field. */
  label?: string
  isDisabled?: boolean
  className?: string
}

/** Selects one of a few options. */
export function Select<T extends string>({ value, options, onChange, label, isDisabled, className }: SelectProps<T>) {
  const selected = options.find((option) => option.value === value)
  return (
    <Base.Root
      value={value}
      onValueChange={(next) => next !== null && onChange(next as T)}
      disabled={isDisabled ?? false}
    >
      <Base.Trigger
        aria-label={label}
        className={cx(
          'inline-flex h-9 w-full items-center justify-between gap-2 rounded-md border border-edge bg-surface px-3 text-left text-sm hover:border-soft data-[disabled]:opacity-60',
          className,
        )}
      >
        <span className="truncate">{selected?.label ?? value}</span>
        <ChevronsUpDown className="size-3.5 shrink-0 text-faint" aria-hidden="true" />
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-50">
          <Base.Popup className="popup max-h-(--available-height) min-w-(--anchor-width) overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-pop">
            {options.map((option) => (
              <Base.Item
                key={option.value}
                value={option.value}
                className="grid cursor-default grid-cols-[1rem_1fr] gap-x-2 rounded-md py-1.5 pr-4 pl-2 text-sm outline-none select-none data-[highlighted]:bg-sunken"
              >
                <Base.ItemIndicator className="col-start-1 self-center">
                  <Check className="size-3.5" aria-hidden="true" />
                </Base.ItemIndicator>
                <Base.ItemText className="col-start-2">{option.label}</Base.ItemText>
                {option.hint && <span className="col-start-2 max-w-72 text-xs text-faint">{option.hint}</span>}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
