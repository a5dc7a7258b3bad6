import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { KnownLabels } from '#contract/dashboard.ts'
import type { GroupResponse } from '#contract/groups.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api, type Page } from '../api.ts'
import type { ListSearch } from './list-query.ts'
import {
  type Completion,
  completionsOf,
  groupsAsked,
  type Known,
  labelsAsked,
  monitorsAsked,
  nameIn,
  readTokens,
} from './list-tokens.ts'

const TYPING_MS = 220

type FieldProps = { search: ListSearch; onSearch: (search: ListSearch) => void }

/**
 * Names and tokens: a finished token becomes a filter at once, a name when the typing pauses. What the address says wins when it
 * changes otherwise.
 */
export function SearchField({ search, onSearch }: FieldProps) {
  const value = search.search ?? ''
  const [text, setText] = useState(value)
  const [problem, setProblem] = useState<string>()
  const [isOpen, setOpen] = useState(false)
  const [active, setActive] = useState(-1)
  const listId = useId()
  const problemId = useId()
  const asked = useRef(value)
  if (asked.current !== value) {
    asked.current = value
    if (nameIn(text) !== value) setText(value)
  }
  useEffect(() => {
    const name = nameIn(text)
    if (name === asked.current) return
    const timer = setTimeout(() => onSearch(withName(search, name)), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text, search, onSearch])
  const read = (next: string, isDone = false) => {
    const found = readTokens(next, search, isDone)
    setText(found.text)
    setProblem(found.problem)
    if (isDone || found.search !== search) onSearch(withName(found.search, nameIn(found.text)))
    return found
  }
  const completions = completionsOf(text, useKnown(isOpen ? text : ''))
  const isShown = isOpen && completions.length > 0
  const chosen = isShown ? completions[active] : undefined
  const open = (next: boolean) => {
    setOpen(next)
    setActive(-1)
  }
  const choose = (completion: Completion) => {
    // A key goes on with its values.
    open(/[:.]$/.test(completion.text))
    read(completion.text)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0 && completions.length > 0) {
      event.preventDefault()
      setOpen(true)
      // Before the first and after the last nothing is chosen.
      const places = completions.length + 1
      setActive(((active + 1 + step + places) % places) - 1)
    } else if (event.key === 'Escape' && isShown) {
      event.preventDefault()
      open(false)
    } else if (event.key === 'Enter' && chosen) choose(chosen)
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
          aria-expanded={isShown}
          aria-controls={isShown ? listId : undefined}
          aria-activedescendant={chosen ? `${listId}-${active}` : undefined}
          aria-autocomplete="list"
          aria-invalid={problem !== undefined}
          aria-describedby={problem === undefined ? undefined : problemId}
          placeholder="Name, value:… or tag:…"
          value={text}
          onChange={(event) => {
            const found = read(event.target.value)
            // A finished token is no longer completed: what is below the list can be seen and pressed.
            open(found.search === search || found.text !== '')
          }}
          onClick={() => open(true)}
          onBlur={() => open(false)}
          onKeyDown={onKey}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          className="h-9 w-full rounded-md border border-edge bg-surface pr-3 pl-9 font-mono text-sm placeholder:font-sans hover:border-soft focus-visible:outline-offset-0 aria-[invalid=true]:border-bad [&::-webkit-search-cancel-button]:hidden"
        />
        {isShown && (
          <div
            id={listId}
            role="listbox"
            aria-label="Filters"
            className="absolute inset-x-0 top-full z-20 mt-1 max-h-80 overflow-y-auto overscroll-contain rounded-lg border border-line bg-raised p-1 shadow-pop"
          >
            {completions.map((completion, at) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the field, which keeps the focus
              <div
                key={completion.text}
                ref={at === active ? intoView : undefined}
                id={`${listId}-${at}`}
                role="option"
                tabIndex={-1}
                aria-selected={at === active}
                // The focus stays in the field, which has the keys.
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

const MOST = 20

/** What the organization has of what is being written: tags, metadata, groups, expected values or external ids. */
function useKnown(text: string): Known {
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), TYPING_MS)
    return () => clearTimeout(timer)
  }, [text])
  const [ofLabels, begun, ofMonitors] = [labelsAsked(asked), groupsAsked(asked), monitorsAsked(asked)]
  const labels = useQuery({
    queryKey: ['monitors', 'labels', ofLabels],
    enabled: ofLabels !== undefined,
    staleTime: 30_000,
    // While someone goes on writing the same.
    placeholderData: (before: KnownLabels | undefined, query) =>
      (query?.queryKey[2] as Asked)?.of === ofLabels?.of ? before : undefined,
    queryFn: ({ signal }) => api.get<KnownLabels>('/dashboard/api/labels', ofLabels, signal),
  })
  const groups = useQuery({
    queryKey: ['groups', 'begun', begun],
    enabled: begun !== undefined,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.get<Page<GroupResponse>>(
        '/groups',
        { search: begun, limit: MOST, order_by: 'name', include: 'external_id' },
        signal,
      ),
  })
  const monitors = useQuery({
    queryKey: ['monitors', 'begun', ofMonitors],
    enabled: ofMonitors !== undefined,
    staleTime: 30_000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api.get<Page<MonitorResponse>>('/monitors', { ...ofMonitors, limit: MOST, include: 'external_id' }, signal),
  })
  const isSameKind = labelsAsked(text)?.of === ofLabels?.of
  return {
    labels: (isSameKind && labels.data?.labels) || [],
    groups: groups.data?.data ?? [],
    monitors: monitors.data?.data ?? [],
  }
}

type Asked = ReturnType<typeof labelsAsked>

const intoView = (option: HTMLElement | null) => option?.scrollIntoView({ block: 'nearest' })

function withName({ search: _, ...rest }: ListSearch, name: string): ListSearch {
  return name === '' ? rest : { ...rest, search: name }
}
