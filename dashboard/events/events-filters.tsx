import { ListFilter, X } from 'lucide-react'
import { useId, useState } from 'react'
import type { MonitorState } from '#contract/monitors.ts'
import { useGroups } from '../monitors/settings.ts'
import { Button } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Field, Input } from '../ui/field.tsx'
import { type Option, Select, withCurrent } from '../ui/select.tsx'
import { STATE_DISPLAY, State } from '../ui/state.tsx'
import type { EventSearch } from './events-query.ts'

type Filters = Pick<EventSearch, 'group' | 'old' | 'new' | 'since' | 'until'>

/** All filters are in the URL. */
export function EventFilters({ search, onChange }: { search: EventSearch; onChange: (filters: Filters) => void }) {
  const { group = '', old = '', new: next = '', since = '', until = '' } = search
  const filters: Filters = { group, old, new: next, since, until }
  const set = (change: Filters) => onChange({ ...filters, ...change })
  const count = Object.values(filters).filter((value) => value !== '').length
  const [isOpen, setOpen] = useState(false)
  const fields = useId()
  return (
    <search aria-label="Filters" className="mb-4 flex flex-col gap-3">
      <Button
        className="self-start sm:hidden"
        aria-expanded={isOpen}
        aria-controls={fields}
        onClick={() => setOpen(!isOpen)}
      >
        <ListFilter /> Filters{count > 0 && ` (${count})`}
      </Button>
      <div
        id={fields}
        className={cx('grid grid-cols-2 items-end gap-3 sm:flex sm:flex-wrap', !isOpen && 'max-sm:hidden')}
      >
        <Field label="Group" className="col-span-2 sm:w-44">
          <Select value={group} options={useGroupOptions(group)} onChange={(value) => set({ group: value })} />
        </Field>
        <Field label="From state" className="sm:w-40">
          <Select value={old} options={stateOptions('UNSET')} onChange={(value) => set({ old: value })} />
        </Field>
        <Field label="To state" className="sm:w-40">
          <Select value={next} options={stateOptions()} onChange={(value) => set({ new: value })} />
        </Field>
        <Field label="Since" className="sm:w-38">
          <Input
            type="date"
            value={since}
            max={until || undefined}
            onChange={(event) => set({ since: event.target.value })}
          />
        </Field>
        <Field label="Until" className="sm:w-38">
          <Input
            type="date"
            value={until}
            min={since || undefined}
            onChange={(event) => set({ until: event.target.value })}
          />
        </Field>
        {count > 0 && (
          <Button
            variant="quiet"
            onClick={() => onChange({ group: '', old: '', new: '', since: '', until: '' })}
            className="col-span-2"
          >
            <X /> Clear filters
          </Button>
        )}
      </div>
    </search>
  )
}

/** No event has UNSET as its new state. */
function stateOptions(...more: MonitorState[]): Option<string>[] {
  const states = (Object.keys(STATE_DISPLAY) as MonitorState[]).filter((state) => state !== 'UNSET')
  return [
    { value: '', label: 'Any state' },
    ...[...states, ...more].map((state) => ({ value: state, label: stateLabel(state) })),
  ]
}

const stateLabel = (state: MonitorState) => (
  <span className="flex">
    <State state={state} />
  </span>
)

/** Includes the group of the URL even if it is not one of the first hundred. */
export function useGroupOptions(selected: string): Option<string>[] {
  const options = (useGroups() ?? []).map(({ slug, name }) => ({ value: slug, label: name }))
  return [{ value: '', label: 'All groups' }, ...withCurrent(options, selected)]
}
