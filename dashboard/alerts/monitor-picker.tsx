import { Combobox } from '@base-ui/react/combobox'
import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useState } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import { api } from '../api.ts'
import { useMonitorSearch } from '../shell/use-monitor-search.ts'
import { Field } from '../ui/field.tsx'

type Choice = { value: string; label: string }

const choiceOf = (monitor: MonitorResponse): Choice => ({
  value: monitor.id,
  label: `${recordName(monitor)} ${monitor.record_type}`,
})

type PickerProps = { selected: readonly string[]; onChange: (selected: string[]) => void; error: string | undefined }

/** Selects monitors by searching their names. */
export function MonitorPicker({ selected, onChange, error }: PickerProps) {
  const [text, setText] = useState('')
  const { found: results, isSearching } = useMonitorSearch(text.trim())
  const [selectedChoices, setSelectedChoices] = useState<Choice[]>([])
  const loadedChoices = useNames(selected.filter((id) => !selectedChoices.some(({ value }) => value === id)))
  const value = selected.map(
    (id) => [...selectedChoices, ...loadedChoices].find((choice) => choice.value === id) ?? { value: id, label: id },
  )
  const select = (next: Choice[]) => {
    setSelectedChoices(next)
    setText('')
    onChange(next.map((choice) => choice.value))
  }
  return (
    <Field label="Monitors" isOptional hint="Type part of a name. Leave empty for all monitors." error={error}>
      <Combobox.Root
        multiple
        items={results.map(choiceOf)}
        filter={null}
        value={value}
        onValueChange={select}
        inputValue={text}
        onInputValueChange={setText}
        isItemEqualToValue={(one, other) => one.value === other.value}
        autoHighlight
      >
        <Combobox.InputGroup className="rounded-md border border-edge bg-surface focus-within:outline-2 focus-within:outline-accent hover:border-soft">
          <Combobox.Chips className="flex max-h-36 flex-wrap gap-1.5 overflow-y-auto p-1.5">
            {value.map((choice) => (
              <Combobox.Chip
                key={choice.value}
                className="flex min-w-0 items-center gap-1 rounded bg-sunken pl-2 font-mono text-xs data-[highlighted]:outline-2 data-[highlighted]:outline-accent"
              >
                <span className="truncate">{choice.label}</span>
                <Combobox.ChipRemove
                  aria-label={`Remove ${choice.label}`}
                  className="grid size-6 shrink-0 place-items-center rounded text-soft hover:text-ink"
                >
                  <X className="size-3.5" aria-hidden="true" />
                </Combobox.ChipRemove>
              </Combobox.Chip>
            ))}
            <Combobox.Input
              placeholder={value.length === 0 ? 'www.example.com' : undefined}
              spellCheck={false}
              autoCapitalize="off"
              className="h-6 min-w-32 flex-1 bg-transparent px-1.5 font-mono text-sm outline-none placeholder:text-faint"
            />
          </Combobox.Chips>
        </Combobox.InputGroup>
        <Combobox.Portal>
          <Combobox.Positioner sideOffset={4} className="z-50">
            <Combobox.Popup className="popup max-h-60 w-(--anchor-width) overflow-y-auto rounded-lg border border-line bg-raised p-1 shadow-pop">
              <Combobox.Status className="px-2.5 py-1.5 text-sm text-faint empty:hidden">
                {text.trim() === ''
                  ? 'Type part of a name.'
                  : isSearching
                    ? 'Searching…'
                    : results.length === 0
                      ? 'No matching monitors.'
                      : null}
              </Combobox.Status>
              <Combobox.List>
                {(choice: Choice) => (
                  <Combobox.Item
                    key={choice.value}
                    value={choice}
                    className="cursor-default rounded-md px-2.5 py-1.5 font-mono text-sm break-all select-none data-[highlighted]:bg-sunken data-[selected]:text-faint"
                  >
                    {choice.label}
                  </Combobox.Item>
                )}
              </Combobox.List>
            </Combobox.Popup>
          </Combobox.Positioner>
        </Combobox.Portal>
      </Combobox.Root>
    </Field>
  )
}

/** The names of at most 100 monitors. Deleted monitors are shown by id. */
function useNames(ids: readonly string[]): Choice[] {
  const { data } = useQuery({
    queryKey: ['monitors', 'names', ids],
    queryFn: async ({ signal }) => {
      const answers = await Promise.allSettled(ids.map((id) => api.get<MonitorResponse>(`/monitors/${id}`, {}, signal)))
      return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [choiceOf(answer.value)] : []))
    },
    enabled: ids.length > 0,
    placeholderData: (before) => before,
  })
  return data ?? []
}
