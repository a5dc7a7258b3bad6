import { Search, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { Select } from '../ui/select.tsx'
import { type ListSearch, ORDER, withoutFilters } from './list-query.ts'
import { useGroups } from './new-settings.ts'

const ANY = 'any'
const TYPING_MS = 220

type FiltersProps = { search: ListSearch; onSearch: (search: ListSearch) => void }

export function ListFilters({ search, onSearch }: FiltersProps) {
  const groups = useGroups() ?? []
  const set = (name: 'type' | 'group') => (value: string) => {
    const { [name]: _, ...rest } = search
    onSearch(value === ANY ? rest : { ...rest, [name]: value })
  }
  const groupName = groups.find(({ slug }) => slug === search.group)?.name ?? search.group
  const known = search.group === undefined || groups.some(({ slug }) => slug === search.group)
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchBox value={search.search ?? ''} onChange={(text) => onSearch(withSearch(search, text))} />
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
            ...(known ? [] : [{ value: search.group!, label: search.group! }]),
            ...groups.map(({ slug, name }) => ({ value: slug, label: name })),
          ]}
          className="sm:w-44!"
        />
        <div className="col-span-2 md:hidden">
          <Order search={search} onSearch={onSearch} />
        </div>
      </div>
      <Chips search={search} groupName={groupName} onSearch={onSearch} />
    </div>
  )
}

const ORDERS = [
  { value: 'domain asc', label: 'Name' },
  { value: 'state asc', label: 'State' },
  { value: 'last_checked desc', label: 'Last checked' },
  { value: 'incidence_count desc', label: 'Most changes' },
  { value: 'created desc', label: 'Newest' },
]

/** Where there is no table, and so no columns to press. */
function Order({ search, onSearch }: FiltersProps) {
  const value = `${search.order ?? ORDER} ${search.way ?? 'asc'}`
  const { order: _, way: __, ...filters } = search
  const onChange = (next: string) => {
    const [order = ORDER, way] = next.split(' ')
    onSearch({ ...filters, order, ...(way === 'desc' ? { way } : {}) })
  }
  const isListed = ORDERS.some((each) => each.value === value)
  const options = isListed ? ORDERS : [...ORDERS, { value, label: `Sorted by ${search.order}` }]
  return <Select label="Order" value={value} onChange={onChange} options={options} />
}

function withSearch({ search: _, ...rest }: ListSearch, text: string): ListSearch {
  return text.trim() === '' ? rest : { ...rest, search: text.trim() }
}

/** What the list is narrowed to, each to be taken away. */
function Chips({ search, groupName, onSearch }: FiltersProps & { groupName: string | undefined }) {
  const chips = [
    ['search', search.search && `starts with “${search.search}”`],
    ['type', search.type],
    ['group', groupName],
  ] as const
  const shown = chips.filter(([, text]) => text)
  if (shown.length === 0) return null
  return (
    <ul className="flex flex-wrap items-center gap-1.5" aria-label="Filters">
      {shown.map(([name, text]) => (
        <li key={name}>
          <button
            type="button"
            aria-label={`Remove filter: ${text}`}
            onClick={() => {
              const { [name]: _, ...rest } = search
              onSearch(rest)
            }}
            className="inline-flex h-7 max-w-60 items-center gap-1 rounded-full bg-accent-wash pr-1.5 pl-2.5 text-xs font-medium text-accent-ink hover:brightness-95"
          >
            <span className="truncate">{text}</span>
            <X className="size-3.5 shrink-0" aria-hidden="true" />
          </button>
        </li>
      ))}
      {shown.length > 1 && (
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

/** Asks when the typing pauses; what the address says wins when it changes otherwise. */
function SearchBox({ value, onChange }: { value: string; onChange: (text: string) => void }) {
  const [text, setText] = useState(value)
  const asked = useRef(value)
  if (asked.current !== value) {
    asked.current = value
    if (text.trim() !== value) setText(value)
  }
  useEffect(() => {
    if (text.trim() === asked.current) return
    const timer = setTimeout(() => onChange(text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, onChange])
  return (
    <div className="relative w-full sm:w-72">
      <Search className="pointer-events-none absolute top-2.5 left-3 size-4 text-faint" aria-hidden="true" />
      <input
        type="search"
        aria-label="Search monitors by name"
        placeholder="Name starts with…"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === 'Enter' && onChange(text)}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        className="h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 font-mono text-sm placeholder:font-sans hover:border-soft focus-visible:outline-offset-0 [&::-webkit-search-cancel-button]:hidden"
      />
    </div>
  )
}
