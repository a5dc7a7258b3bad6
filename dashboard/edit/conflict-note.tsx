import { Users } from 'lucide-react'
import { useEffect, useRef } from 'react'
import { RadioGroup } from '../ui/radio-group.tsx'
import type { Fields } from './rebase.ts'
import type { Conflict } from './use-edit.ts'

type NoteProps<Form> = {
  conflict: Conflict<Form> | undefined
  fields: Fields<Form>
  choose: (name: keyof Form, choice: 'mine' | 'theirs') => void
}

/** Shows what someone else saved meanwhile, and lets the user choose the value of fields that both changed. */
export function ConflictNote<Form extends object>({ conflict, fields, choose }: NoteProps<Form>) {
  const note = useRef<HTMLElement>(null)
  const theirs = conflict?.theirs
  // The Save button may be far below in a long form.
  useEffect(() => {
    if (theirs) note.current?.scrollIntoView({ block: 'nearest' })
  }, [theirs])
  if (!conflict || !theirs) return null
  const { base, mine, conflicts, taken, chosen } = conflict
  return (
    <section
      ref={note}
      role="alert"
      className="col-span-full flex flex-col gap-3 rounded-md bg-warn-wash px-3 py-2.5 text-sm"
    >
      <p className="flex gap-2.5 text-warn">
        <Users className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
        <span>
          Not saved: someone else changed this while you were editing.{' '}
          {conflicts.length > 0 ? 'Choose the values to keep, then save.' : 'Review the new values below, then save.'}
        </span>
      </p>
      {conflicts.map((name) => (
        <RadioGroup
          key={String(name)}
          label={fields[name].label}
          value={chosen.get(name) ?? ''}
          options={[
            { value: 'mine', label: 'Keep my value', hint: orEmpty(fields[name].text(mine[name])) },
            { value: 'theirs', label: 'Use saved value', hint: orEmpty(fields[name].text(theirs[name])) },
          ]}
          onChange={(choice) => choice !== '' && choose(name, choice)}
        />
      ))}
      {taken.length > 0 && (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 gap-y-1">
          {taken.map((name) => (
            <div key={String(name)} className="contents">
              <dt className="font-medium">{fields[name].label}</dt>
              <dd className="wrap-anywhere whitespace-pre-line">
                {orEmpty(fields[name].text(theirs[name]))}{' '}
                <span className="text-faint">(was {orEmpty(fields[name].text(base[name]))})</span>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  )
}

const orEmpty = (text: string): string => (text === '' ? 'empty' : text)
