import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { monitorsText } from '#contract/wording.ts'
import { Checkbox, Input } from '../ui/field.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { groupsQuery } from './queries.ts'

/** Longer lists get a search field. */
const MAX_WITHOUT_SEARCH = 8

/** The groups whose changes the webhook receives. */
export function GroupChoice({
  chosen,
  isOfAll,
  onChange,
  onAll,
  error,
}: {
  chosen: readonly string[]
  isOfAll: boolean
  onChange: (ids: string[]) => void
  onAll: (isOfAll: boolean) => void
  error: string | undefined
}) {
  const { data, error: problem } = useQuery(groupsQuery)
  const [search, setSearch] = useState('')
  const groups = data?.data ?? []
  const shown = groups.filter(({ name }) => name.toLowerCase().includes(search.trim().toLowerCase()))
  const toggle = (id: string, isSelected: boolean) =>
    onChange(isSelected ? [...chosen, id] : chosen.filter((other) => other !== id))
  return (
    <fieldset>
      <legend className="text-sm font-medium">Groups</legend>
      <div className="mt-1 mb-2.5">
        <Checkbox
          label="All groups"
          hint="Also groups that are created later. Each change is sent once."
          isChecked={isOfAll}
          onChange={onAll}
        />
      </div>
      {!isOfAll && (
        <p className="mb-1.5 text-xs text-faint">The webhook receives the changes of all monitors in these groups.</p>
      )}
      <div className="rounded-md border border-line" hidden={isOfAll}>
        {groups.length > MAX_WITHOUT_SEARCH && (
          <div className="border-b border-line p-2">
            <Input
              type="search"
              aria-label="Find a group"
              placeholder="Find a group"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
          </div>
        )}
        <div className="flex max-h-44 flex-col gap-2 overflow-y-auto p-3">
          {problem ? (
            <ProblemNote problem={problem} />
          ) : !data ? (
            <Skeleton lines={2} />
          ) : (
            shown.map(({ id, name, monitors }) => (
              <Checkbox
                key={id}
                label={
                  <>
                    {name} <span className="text-xs text-faint tabular-nums">{monitorsText(monitors)}</span>
                  </>
                }
                isChecked={chosen.includes(id)}
                onChange={(isSelected) => toggle(id, isSelected)}
              />
            ))
          )}
          {data && shown.length === 0 && <p className="text-xs text-faint">No matching group.</p>}
        </div>
      </div>
      {error ? (
        <p role="alert" className="mt-1.5 text-xs text-bad">
          {error}
        </p>
      ) : (
        data &&
        !isOfAll &&
        chosen.length === 0 && (
          <p className="mt-1.5 text-xs text-warn">Without a group, the webhook receives only tests.</p>
        )
      )}
    </fieldset>
  )
}
