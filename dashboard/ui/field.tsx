import { Checkbox as Box } from '@base-ui/react/checkbox'
import { Field as Base } from '@base-ui/react/field'
import { Switch as Toggle } from '@base-ui/react/switch'
import { Check } from 'lucide-react'
import type { ComponentProps, ReactNode } from 'react'
import { cx } from './class-names.ts'

const control =
  'w-full rounded-md border border-edge bg-surface px-3 text-sm text-ink transition-colors duration-100 ' +
  'hover:border-soft focus-visible:outline-2 focus-visible:outline-offset-0 focus-visible:outline-accent ' +
  'disabled:opacity-60 data-[invalid]:border-bad aria-[invalid=true]:border-bad read-only:bg-sunken'

type FieldProps = {
  label: ReactNode
  /** One line below the control. */
  hint?: ReactNode | undefined
  /** What is wrong and how to fix it. Replaces the hint; screen readers announce it. */
  error?: string | undefined
  isOptional?: boolean
  className?: string | undefined
  children: ReactNode
}

/** Label, hint and error of an Input, TextArea or Select. */
export function Field({ label, hint, error, isOptional, className, children }: FieldProps) {
  return (
    <Base.Root invalid={error !== undefined} className={cx('flex flex-col gap-1.5', className)}>
      <Base.Label className="text-sm font-medium text-ink">
        {label}
        {isOptional && <span className="font-normal text-faint"> (optional)</span>}
      </Base.Label>
      {children}
      {error !== undefined ? (
        <Base.Error match className="text-xs text-bad first-letter:uppercase">
          {error}
        </Base.Error>
      ) : (
        hint && <Base.Description className="text-xs text-faint">{hint}</Base.Description>
      )}
    </Base.Root>
  )
}

/** `isCode`: DNS names, values and other code, without spelling and capitalization aids. */
export function Input({ isCode, className, ...rest }: ComponentProps<typeof Base.Control> & { isCode?: boolean }) {
  return (
    <Base.Control
      {...rest}
      {...(isCode ? { spellCheck: false, autoCapitalize: 'off', autoCorrect: 'off' } : {})}
      className={cx(control, 'h-9', isCode && 'font-mono', className as string)}
    />
  )
}

export function TextArea({ isCode, className, ...rest }: ComponentProps<'textarea'> & { isCode?: boolean }) {
  return (
    <Base.Control
      render={<textarea {...rest} spellCheck={!isCode} />}
      className={cx(control, 'min-h-20 py-2 leading-5', isCode && 'font-mono', className)}
    />
  )
}

type CheckboxProps = {
  label: ReactNode
  /** Only for screen readers, where the row or column already shows the label. */
  isLabelHidden?: boolean
  hint?: ReactNode
  isChecked: boolean
  isIndeterminate?: boolean
  isDisabled?: boolean
  onChange: (isChecked: boolean) => void
}

export function Checkbox({
  label,
  isLabelHidden,
  hint,
  isChecked,
  isIndeterminate,
  isDisabled,
  onChange,
}: CheckboxProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is of Base UI
    <label className="inline-flex items-start gap-2.5">
      <Box.Root
        checked={isChecked}
        indeterminate={isIndeterminate ?? false}
        disabled={isDisabled ?? false}
        onCheckedChange={onChange}
        className="mt-0.5 grid size-4 shrink-0 place-items-center rounded-sm border border-edge bg-surface data-[checked]:border-accent data-[checked]:bg-accent data-[indeterminate]:border-accent data-[indeterminate]:bg-accent"
      >
        <Box.Indicator className="text-on-accent">
          {isIndeterminate ? (
            <span className="block h-0.5 w-2 bg-current" />
          ) : (
            <Check className="size-3" strokeWidth={3.5} />
          )}
        </Box.Indicator>
      </Box.Root>
      <span className={isLabelHidden ? 'sr-only' : undefined}>
        <span className="block text-sm">{label}</span>
        {hint && <span className="block text-xs text-faint">{hint}</span>}
      </span>
    </label>
  )
}

type SwitchProps = {
  label: ReactNode
  hint?: ReactNode
  isOn: boolean
  isDisabled?: boolean
  onChange: (isOn: boolean) => void
}

export function Switch({ label, hint, isOn, isDisabled, onChange }: SwitchProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is of Base UI
    <label className="flex items-start justify-between gap-4">
      <span>
        <span className="block text-sm font-medium">{label}</span>
        {hint && <span className="block text-xs text-faint">{hint}</span>}
      </span>
      <Toggle.Root
        checked={isOn}
        disabled={isDisabled ?? false}
        onCheckedChange={onChange}
        className="mt-0.5 flex h-5 w-9 shrink-0 rounded-full border border-edge bg-sunken p-0.5 transition-colors data-[checked]:border-accent data-[checked]:bg-accent data-[disabled]:opacity-55"
      >
        <Toggle.Thumb className="size-3.5 rounded-full bg-edge transition-transform data-[checked]:translate-x-4 data-[checked]:bg-on-accent" />
      </Toggle.Root>
    </label>
  )
}
