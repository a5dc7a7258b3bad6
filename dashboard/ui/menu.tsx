import { Menu as Base } from '@base-ui/react/menu'
import { Check, type LucideIcon } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { cx } from './class-names.ts'

/** `trigger` is a Button. The children are MenuItem, MenuCheck, MenuLabel and MenuSeparator. */
export function Menu({
  trigger,
  children,
  align = 'end',
}: {
  trigger: ReactElement<Record<string, unknown>>
  children: ReactNode
  align?: 'start' | 'end'
}) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align={align} className="z-50">
          <Base.Popup className="popup max-h-(--available-height) min-w-44 overflow-y-auto overscroll-contain rounded-lg border border-line bg-raised p-1 shadow-pop outline-none">
            {children}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}

type ItemProps = {
  icon?: LucideIcon
  children: ReactNode
  onSelect?: () => void
  isDangerous?: boolean
  isDisabled?: boolean
  isSelected?: boolean
  /** A link instead of a button. */
  render?: ReactElement<Record<string, unknown>>
}

export function MenuItem({ icon: Icon, children, onSelect, isDangerous, isDisabled, isSelected, render }: ItemProps) {
  return (
    <Base.Item
      {...(render ? { render } : {})}
      {...(onSelect ? { onClick: onSelect } : {})}
      disabled={isDisabled ?? false}
      className={cx(
        'flex w-full cursor-default items-center gap-2.5 rounded-md px-2.5 py-1.5 text-sm outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-sunken',
        isDangerous && 'text-bad',
      )}
    >
      {Icon && (
        <Icon className={cx('size-4 shrink-0', !isDangerous && 'text-soft')} strokeWidth={1.9} aria-hidden="true" />
      )}
      <span className="min-w-0 flex-1 truncate">{children}</span>
      {isSelected && <Check className="size-4 text-accent-ink" aria-label="selected" />}
    </Base.Item>
  )
}

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <div className="px-2.5 pt-1.5 pb-1 text-xs text-faint">{children}</div>
)
export const MenuSeparator = () => <Base.Separator className="my-1 h-px bg-line" />

/** A checkbox item. The menu stays open. */
export const MenuCheck = ({
  isOn,
  onChange,
  isDisabled,
  children,
}: {
  isOn: boolean
  onChange: (isOn: boolean) => void
  isDisabled?: boolean
  children: ReactNode
}) => (
  <Base.CheckboxItem
    checked={isOn}
    onCheckedChange={onChange}
    disabled={isDisabled ?? false}
    closeOnClick={false}
    className="grid w-full cursor-default grid-cols-[1rem_1fr] items-center gap-2.5 rounded-md px-2.5 py-1.5 text-sm outline-none select-none data-[disabled]:opacity-50 data-[highlighted]:bg-sunken"
  >
    <Base.CheckboxItemIndicator>
      <Check className="size-4 text-accent-ink" aria-hidden="true" />
    </Base.CheckboxItemIndicator>
    <span className="col-start-2 truncate">{children}</span>
  </Base.CheckboxItem>
)
