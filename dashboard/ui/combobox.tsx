import { Combobox as Base } from '@base-ui/react/combobox'
import { Check, ChevronsUpDown } from 'lucide-react'

type ComboboxProps = {
  value: string
  options: readonly string[]
  onChange: (value: string) => void
  /** Shown when nothing matches. */
  empty: string
  isDisabled?: boolean
}

/** Selects one of many options by typing. Needs a Field around it for its label. */
export function Combobox({ value, options, onChange, empty, isDisabled }: ComboboxProps) {
  return (
    <Base.Root
      items={options}
      value={value}
      onValueChange={(next) => next !== null && onChange(next)}
      disabled={isDisabled ?? false}
      autoHighlight
    >
      <Base.InputGroup className="relative">
        <Base.Input className="h-9 w-full rounded-md border border-edge bg-surface pr-9 pl-3 text-sm hover:border-soft focus-visible:outline-2 focus-visible:outline-offset-0 focus-visible:outline-accent disabled:opacity-60" />
        <Base.Trigger
          aria-label="Show all"
          className="absolute inset-y-0 right-0 grid w-9 place-items-center text-faint data-[disabled]:opacity-60"
        >
          <ChevronsUpDown className="size-3.5" aria-hidden="true" />
        </Base.Trigger>
      </Base.InputGroup>
      <Base.Portal>
        <Base.Positioner sideOffset={4} className="z-50">
          <Base.Popup className="popup max-h-[min(20rem,var(--available-height))] w-(--anchor-width) overflow-y-auto overscroll-contain rounded-lg border border-line bg-raised p-1 shadow-pop">
            <Base.Empty className="px-2.5 py-1.5 text-sm text-faint empty:hidden">{empty}</Base.Empty>
            <Base.List>
              {(option: string) => (
                <Base.Item
                  key={option}
                  value={option}
                  className="grid cursor-default grid-cols-[1rem_1fr] items-center gap-x-2 rounded-md py-1.5 pr-4 pl-2 text-sm outline-none select-none data-[highlighted]:bg-sunken"
                >
                  <Base.ItemIndicator className="col-start-1">
                    <Check className="size-3.5" aria-hidden="true" />
                  </Base.ItemIndicator>
                  <span className="col-start-2 truncate">{option}</span>
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
