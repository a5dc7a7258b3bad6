import { createLink } from '@tanstack/react-router'
import type { ComponentProps, ReactNode, Ref } from 'react'
import { cx } from './class-names.ts'
import { Spinner } from './spinner.tsx'

type Variant = 'primary' | 'plain' | 'quiet' | 'danger'
type Size = 'sm' | 'md'

const VARIANTS: Record<Variant, string> = {
  primary: 'bg-accent text-on-accent hover:brightness-110 active:brightness-95',
  plain: 'border border-line bg-surface text-ink hover:bg-sunken',
  quiet: 'text-soft hover:bg-sunken hover:text-ink',
  danger: 'border border-line bg-surface text-bad hover:border-bad hover:bg-bad-wash',
}
const SIZES: Record<Size, string> = { sm: 'h-7 gap-1.5 px-2.5 text-xs', md: 'h-9 gap-2 px-3.5 text-sm' }

const buttonClass = (variant: Variant, size: Size, isSquare: boolean) =>
  cx(
    'relative inline-flex shrink-0 items-center justify-center rounded-md font-medium whitespace-nowrap select-none',
    'transition-[background-color,border-color,color,filter] duration-100',
    'disabled:opacity-55 aria-disabled:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0',
    VARIANTS[variant],
    SIZES[size],
    isSquare && (size === 'sm' ? 'w-7 px-0' : 'w-9 px-0'),
  )

type SharedProps = { variant?: Variant; size?: Size; isSquare?: boolean }

type ButtonProps = ComponentProps<'button'> & SharedProps & { isBusy?: boolean; children: ReactNode }

/** `isBusy` disables the button and shows a spinner; the button keeps its width. A square button needs an aria-label. */
export function Button({
  variant = 'plain',
  size = 'md',
  isSquare = false,
  isBusy,
  children,
  className,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled || isBusy}
      aria-busy={isBusy || undefined}
      className={cx(buttonClass(variant, size, isSquare), className)}
    >
      <span
        className={cx(
          'inline-flex min-w-0 flex-1 items-center [justify-content:inherit] gap-[inherit]',
          isBusy && 'opacity-0',
        )}
      >
        {children}
      </span>
      {isBusy && (
        <span className="absolute inset-0 grid place-items-center">
          <Spinner />
        </span>
      )}
    </button>
  )
}

type AnchorProps = ComponentProps<'a'> & SharedProps & { ref?: Ref<HTMLAnchorElement> }

/** An ordinary link that looks like a button: downloads, other sites. */
export function ButtonAnchor({ variant = 'plain', size = 'md', isSquare = false, className, ...rest }: AnchorProps) {
  return <a {...rest} className={cx(buttonClass(variant, size, isSquare), className)} />
}

/** A link to another page that looks like a button. */
export const ButtonLink = createLink(ButtonAnchor)
