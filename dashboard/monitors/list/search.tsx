import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { KnownLabels } from '#contract/dashboard.ts'
import type { GroupResponse } from '#contract/groups.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api, type Page } from '../../api.ts'
import { useDebounced } from '../../ui/use-debounced.ts'
import type { ListSearch } from './query.ts'
import {
  type Completion,
  completionsFor,
  groupQueryFor,
  labelQueryFor,
  monitorQueryFor,
  readTokens,
  type Suggestions,
  searchText,
} from './tokens.ts'

const DEBOUNCE_MS = 220

type FieldProps = { search: ListSearch; onSearch: (search: ListSearch) => void }

/**
 * Text and tokens: a complete token becomes a filter at once, text after a pause. A change of the URL from elsewhere replaces the
 * text.
 */
export function SearchField({ search, onSearch }: FieldProps) {
  const value = search.search ?? ''
  const [text, setText] = useState(value)
  const [problem, setProblem] = useState<string>()
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const listId = useId()
  const problemId = useId()
  const lastSearch = useRef(value)
  if (lastSearch.current !== value) {
    lastSearch.current = value
    if (searchText(text) !== value) setText(value)
  }
  useEffect(() => {
    const name = searchText(text)
    if (name === lastSearch.current) return
    const timer = setTimeout(() => onSearch(withName(search, name)), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  }, [text, search, onSearch])
  const read = (next: string, isSubmit = false) => {
    const parsed = readTokens(next, search, isSubmit)
    setText(parsed.text)
    setProblem(parsed.problem)
    if (isSubmit || parsed.search !== search) onSearch(withName(parsed.search, searchText(parsed.text)))
    return parsed
  }
  const completions = completionsFor(text, useSuggestions(isOpen ? text : ''))
  const isListOpen = isOpen && completions.length > 0
  const selected = isListOpen ? completions[active] : undefined
  const open = (next: boolean) => {
    setOpen(next)
    setActive(-1)
  }
  const choose = (completion: Completion) => {
    // After a key, its values are suggested.
    open(/[:.]$/.test(completion.text))
    read(completion.text)
  }
  const onKey = (event: KeyboardEvent) => {
    const direction = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (direction !== 0 && completions.length > 0) {
      event.preventDefault()
      setOpen(true)
      // One position more than completions: none is selected.
      const positions = completions.length + 1
      setActive(((active + 1 + direction + positions) % positions) - 1)
    } else if (event.key === 'Escape' && isListOpen) {
      event.preventDefault()
      open(false)
    } else if (event.key === 'Enter' && selected) choose(selected)
    else if (event.key === 'Enter') {
      open(false)
      read(text, true)
    }
  }
  return (
    <>
      <div className="relative w-full sm:w-80">
        <Search className="pointer-events-none absolute top-2.5 left-3 size-4 text-faint" aria-hidden="true" />
        <input
          type="search"
          role="combobox"
          aria-label="Search monitors"
          aria-expanded={isListOpen}
          aria-controls={isListOpen ? listId : undefined}
          aria-activedescendant={selected ? `${listId}-${active}` : undefined}
          aria-autocomplete="list"
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : problemId}
          placeholder="Name, value:… or tag:…"
          value={text}
          onChange={(event) => {
            const parsed = read(event.target.value)
            // After a complete token the suggestions close.
            open(parsed.search === search || parsed.text !== '')
          }}
          onClick={() => open(true)}
          onBlur={() => open(false)}
          onKeyDown={onKey}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          className="h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 font-mono text-sm placeholder:font-sans hover:border-soft focus-visible:outline-offset-0 aria-[invalid=true]:border-bad [&::-webkit-search-cancel-button]:hidden"
        />
        {isListOpen && (
          <div
            id={listId}
            role="listbox"
            aria-label="Filters"
            className="absolute inset-x-0 top-full z-20 mt-1 max-h-80 overflow-y-auto overscroll-contain rounded-lg border border-line bg-raised p-1 shadow-pop"
          >
            {completions.map((completion, index) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the field, which keeps the focus
              <div
                key={completion.text}
                ref={index === active ? scrollOptionIntoView : undefined}
                id={`${listId}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === active}
                // Keeps the focus in the field, which handles the keys.
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => choose(completion)}
                className="flex cursor-default items-baseline justify-between gap-3 rounded-md px-2.5 py-1.5 text-sm select-none hover:bg-sunken aria-selected:bg-accent-wash aria-selected:text-accent-ink"
              >
                <span className="font-mono">{completion.label}</span>
                <span className="truncate text-xs text-faint in-aria-selected:text-accent-ink">{completion.hint}</span>
              </div>
            ))}
          </div>
        )}
      </div>
      <p id={problemId} aria-live="polite" className="order-last basis-full text-xs text-bad empty:hidden">
        {problem}
      </p>
    </>
  )
}

const MAX_SUGGESTIONS = 20

/** Suggestions for the token being typed: tags, metadata, groups, expected values or external ids of the organization. */
function useSuggestions(text: string): Suggestions {
  const settledText = useDebounced(text, DEBOUNCE_MS)
  const labelQuery = labelQueryFor(settledText)
  const groupSearch = groupQueryFor(settledText)
  const monitorQuery = monitorQueryFor(settledText)
  const labels = useQuery({
    queryKey: ['monitors', 'labels', labelQuery],
    enabled: labelQuery !== undefined,
    staleTime: 30_000,
    // Keeps the suggestions while the same key is being typed.
    placeholderData: (before: KnownLabels | undefined, query) =>
      (query?.queryKey[2] as LabelQuery)?.of === labelQuery?.of ? before : undefined,
    queryFn: ({ signal }) => api.get<KnownLabels>('/dashboard/api/labels', labelQuery, signal),
  })
  const groups = useQuery({
    queryKey: ['groups', 'suggestions', groupSearch],
    enabled: groupSearch !== undefined,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.get<Page<GroupResponse>>(
        '/groups',
        { search: groupSearch, limit: MAX_SUGGESTIONS, order_by: 'name', include: 'external_id' },
        signal,
      ),
  })
  const monitors = useQuery({
    queryKey: ['monitors', 'suggestions', monitorQuery],
    enabled: monitorQuery !== undefined,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.get<Page<MonitorResponse>>(
        '/monitors',
        { ...monitorQuery, limit: MAX_SUGGESTIONS, include: 'external_id' },
        signal,
      ),
  })
  const isSameKind = labelQueryFor(text)?.of === labelQuery?.of
  return {
    labels: (isSameKind && labels.data?.labels) || [],
    groups: groups.data?.data ?? [],
    monitors: monitors.data?.data ?? [],
  }
}

type LabelQuery = ReturnType<typeof labelQueryFor>

const scrollOptionIntoView = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' })

function withName({ search: _, ...rest }: ListSearch, name: string): ListSearch {
  return name === '' ? rest : { ...rest, search: name }
}
