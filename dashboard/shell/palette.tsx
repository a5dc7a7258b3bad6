import { Autocomplete } from '@base-ui/react/autocomplete'
import { Dialog } from '@base-ui/react/dialog'
import { Search } from 'lucide-react'
import { useDeferredValue, useRef, useState } from 'react'
import { useSession } from '../session.tsx'
import { cx } from '../ui/class-names.ts'
import { Spinner } from '../ui/spinner.tsx'
import { useCommands, useRecentMonitor } from './palette-commands.ts'
import { type Command, type CommandGroup, matchesCommand, parseRecent, withRecent } from './palette-items.ts'
import { useMonitorSearch } from './use-monitor-search.ts'

/** The command palette: searches monitors, pages and commands. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const { groups, isSearching } = useSearchResults(text.trim())
  const { remember } = useRecent()
  const input = useRef<HTMLInputElement>(null)
  const choose = (command: Command) => {
    remember(command)
    onClose()
    void command.run()
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-black/35 dark:bg-black/60" />
        <Dialog.Popup
          initialFocus={input}
          className="popup fixed top-[12dvh] left-1/2 z-50 flex max-h-[72dvh] w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 flex-col overflow-hidden rounded-lg border border-line bg-raised shadow-pop"
        >
          <Dialog.Title className="sr-only">Search and commands</Dialog.Title>
          <Autocomplete.Root
            open
            inline
            mode="none"
            items={groups}
            value={text}
            onValueChange={setText}
            itemToStringValue={(command: Command) => command.label}
            autoHighlight="always"
            keepHighlight
          >
            <div className="flex items-center gap-3 border-b border-line px-4">
              <Search className="size-4 shrink-0 text-faint" aria-hidden="true" />
              <Autocomplete.Input
                ref={input}
                aria-label="Search monitors, pages and commands"
                placeholder="Search monitors, pages and commands…"
                spellCheck={false}
                autoCapitalize="off"
                className="h-12 min-w-0 flex-1 bg-transparent text-base outline-none"
              />
              {isSearching && <Spinner />}
              <kbd className="rounded-sm border border-line px-1.5 py-0.5 font-sans text-2xs text-faint">Esc</kbd>
            </div>
            <Autocomplete.List className="min-h-0 flex-1 overflow-y-auto overscroll-contain p-1.5 outline-none empty:hidden">
              {(group: CommandGroup) => (
                <Autocomplete.Group key={group.value} items={group.items} className="pb-1">
                  <Autocomplete.GroupLabel className="px-2.5 pt-2 pb-1 text-xs text-faint">
                    {group.value}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(command: Command) => <Line key={command.id} command={command} onChoose={choose} />}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
            <Autocomplete.Empty className="px-4 py-8 text-center text-sm text-faint empty:hidden">
              {isSearching ? 'Searching…' : 'No results. Monitors are found by their names, values, tags and metadata.'}
            </Autocomplete.Empty>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Line({ command, onChoose }: { command: Command; onChoose: (command: Command) => void }) {
  const { icon: Icon, label, hint, title, isCode } = command
  return (
    <Autocomplete.Item
      value={command}
      onClick={() => onChoose(command)}
      className="flex cursor-default items-center gap-3 rounded-md px-2.5 py-2 text-sm select-none data-[highlighted]:bg-accent-wash data-[highlighted]:text-accent-ink"
    >
      <Icon className="size-4 shrink-0 opacity-75" strokeWidth={1.9} aria-hidden="true" />
      <span className={cx('min-w-0 flex-1 truncate', isCode && 'font-mono text-[0.95em]')}>{label}</span>
      {hint && (
        <span className="shrink-0 text-xs text-faint" title={title}>
          {hint}
        </span>
      )}
    </Autocomplete.Item>
  )
}

/** Without a search text, recent commands come first. */
function useSearchResults(text: string): { groups: CommandGroup[]; isSearching: boolean } {
  const { pages, actions, openMonitor } = useCommands()
  const recentMonitor = useRecentMonitor()
  const { recent } = useRecent()
  const { found, isSearching } = useMonitorSearch(useDeferredValue(text))
  if (text === '') {
    const commands = [...pages, ...actions]
    const recentCommands = recent.flatMap(
      (used) => commands.find(({ id }) => id === used.id) ?? recentMonitor(used) ?? [],
    )
    const others = (commands: Command[]) =>
      commands.filter(({ id }) => !recentCommands.some((recent) => recent.id === id))
    return {
      isSearching: false,
      groups: withItems([
        { value: 'Recent', items: recentCommands },
        { value: 'Go to', items: others(pages) },
        { value: 'Commands', items: others(actions) },
      ]),
    }
  }
  const matching = (commands: Command[]) => commands.filter((command) => matchesCommand(command, text))
  return {
    isSearching,
    groups: withItems([
      { value: 'Go to', items: matching(pages) },
      { value: 'Commands', items: matching(actions) },
      { value: 'Monitors', items: found.map(openMonitor) },
    ]),
  }
}

const withItems = (groups: CommandGroup[]) => groups.filter(({ items }) => items.length > 0)

/** Stored for each organization, because it names monitors. */
function useRecent() {
  const { organization } = useSession()
  const key = `zonewatch.recent.${organization.id}`
  const [recent] = useState(() => parseRecent(localStorage.getItem(key)))
  return {
    recent,
    remember: ({ id, label }: Command) =>
      localStorage.setItem(key, JSON.stringify(withRecent(parseRecent(localStorage.getItem(key)), { id, label }))),
  }
}
