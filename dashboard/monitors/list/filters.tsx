import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { MonitorState } from '#contract/monitors.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { STATE_LABELS } from '#contract/wording.ts'
import { Select } from '../../ui/select.tsx'
import { useGroups } from '../settings.ts'
import {
  LIST_FILTERS,
  type ListSearch,
  metadataOf,
  ORDER,
  splitList,
  withoutFilters,
  withStates,
  withTags,
} from './query.ts'
import { SearchField } from './search.tsx'

const ANY = 'any'

type FiltersProps = { search: ListSearch; onSearch: (search: ListSearch) => void }

export function ListFilters({ search, onSearch, children }: FiltersProps & { children?: ReactNode }) {
  const groups = useGroups() ?? []
  const set = (name: 'type' | 'group') => (value: string) => {
    const { [name]: _, ...rest } = search
    onSearch(value === ANY ? rest : { ...rest, [name]: value })
  }
  const groupName = groups.find(({ slug }) => slug === search.group)?.name ?? search.group
  const isKnownGroup = search.group === undefined || groups.some(({ slug }) => slug === search.group)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchField search={search} onSearch={onSearch} />
      <div className="grid grow basis-full grid-cols-2 gap-2 sm:flex sm:grow-0 sm:basis-auto">
        <Select
          label="Type"
          value={search.type ?? ANY}
          onChange={set('type')}
          options={[{ value: ANY, label: 'All types' }, ...RECORD_TYPES.map((value) => ({ value, label: value }))]}
          className="sm:w-32!"
        />
        <Select
          label="Group"
          value={search.group ?? ANY}
          onChange={set('group')}
          options={[
            { value: ANY, label: 'All groups' },
            ...(isKnownGroup ? [] : [{ value: search.group!, label: search.group! }]),
            ...groups.map(({ slug, name }) => ({ value: slug, label: name })),
          ]}
          className="sm:w-44!"
        />
        <div className="col-span-2 md:hidden">
          <OrderSelect search={search} onSearch={onSearch} />
        </div>
      </div>
      {children && <div className="flex flex-wrap gap-2 lg:ml-auto">{children}</div>}
      <FilterChips search={search} groupName={groupName} onSearch={onSearch} />
    </div>
  )
}

const ORDER_OPTIONS = [
  { value: `${ORDER} asc`, label: 'Name' },
  { value: 'state asc', label: 'State' },
  { value: 'incidence_count desc', label: 'Most changes' },
  { value: 'created desc', label: 'Newest' },
]

/** For narrow screens, where there are no column headers. */
function OrderSelect({ search, onSearch }: FiltersProps) {
  const value = `${search.order ?? ORDER} ${search.way ?? 'asc'}`
  const { order: _, way: __, ...filters } = search
  const onChange = (next: string) => {
    const [order = ORDER, way] = next.split(' ')
    onSearch({ ...filters, order, ...(way === 'desc' ? { way } : {}) })
  }
  const isListed = ORDER_OPTIONS.some((option) => option.value === value)
  const options = isListed ? ORDER_OPTIONS : [...ORDER_OPTIONS, { value, label: `Sorted by ${search.order ?? ORDER}` }]
  return <Select label="Order" value={value} onChange={onChange} options={options} />
}

/** The active filters, each with a button that removes it. */
function FilterChips({ search, groupName, onSearch }: FiltersProps & { groupName: string | undefined }) {
  const chips = filterChips(search, groupName)
  if (chips.length === 0) return null
  return (
    <ul className="flex basis-full flex-wrap items-center gap-1.5" aria-label="Filters">
      {chips.map(({ text, without }) => (
        <li key={text}>
          <button
            type="button"
            aria-label={`Remove filter: ${text}`}
            onClick={() => onSearch(without)}
            className="inline-flex h-7 max-w-60 items-center gap-1 rounded-full bg-accent-wash pr-1.5 pl-2.5 text-xs font-medium text-accent-ink hover:brightness-95"
          >
            <span className="truncate">{text}</span>
            <X className="size-3.5 shrink-0" aria-hidden="true" />
          </button>
        </li>
      ))}
      {chips.length > 1 && (
        <li>
          <button
            type="button"
            onClick={() => onSearch(withoutFilters(search))}
            className="h-7 rounded-sm px-1.5 text-xs text-faint hover:text-ink hover:underline"
          >
            Clear all
          </button>
        </li>
      )}
    </ul>
  )
}

type Chip = { text: string; without: ListSearch }

function filterChips(search: ListSearch, groupName: string | undefined): Chip[] {
  const states = splitList(search.state)
  const tags = splitList(search.tag)
  const single = (name: keyof ListSearch, text: string): Chip[] => {
    const { [name]: value, ...without } = search
    return value === undefined ? [] : [{ text, without }]
  }
  return [
    ...LIST_FILTERS.flatMap(({ name, token }): Chip[] => {
      switch (name) {
        case 'state':
          return states.map((state) => ({
            text: `state: ${STATE_LABELS[state.toUpperCase() as MonitorState] ?? state}`,
            without: withStates(
              search,
              states.filter((other) => other !== state),
            ),
          }))
        case 'tag':
          return tags.map((tag) => ({
            text: `tag: ${tag}`,
            without: withTags(
              search,
              tags.filter((other) => other !== tag),
            ),
          }))
        case 'active': // a chip of the states
          return []
        default:
          return single(name, `${token}: ${name === 'group' ? groupName : search[name]}`)
      }
    }),
    ...metadataOf(search).flatMap(([name, key, value]) => single(name, `${key}: ${value}`)),
  ]
}
