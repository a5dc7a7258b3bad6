import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import { api } from '../api.ts'
import { Confirm } from '../ui/dialog.tsx'
import { RadioGroup } from '../ui/radio-group.tsx'
import { useToast } from '../ui/toast.tsx'
import { countText, groupPath, refreshGroups } from './queries.ts'

// The contract's own constant would bring its schemas into the page.
const MOST_DELETED = 500

type GroupDeleteProps = { group: Group; isOpen: boolean; onClose: () => void; onDeleted?: () => void }

export function GroupDelete({ group, isOpen, onClose, onDeleted }: GroupDeleteProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const [fate, setFate] = useState<'move' | 'delete'>('move')
  const monitors = countText(group.monitors)
  const isWithMonitors = fate === 'delete' && group.monitors > 0
  const remove = async () => {
    await api.delete(`${groupPath(group.id)}${isWithMonitors ? '?monitors=delete' : ''}`)
    onDeleted?.()
    toast.done(`${group.name} deleted.`)
    queries.removeQueries({ queryKey: ['groups', 'one', group.slug] })
    void refreshGroups(queries)
  }
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title={`Delete the group ${group.name}?`}
      confirmLabel={isWithMonitors ? `Delete group and ${monitors}` : 'Delete group'}
      isDangerous
      onConfirm={remove}
    >
      {group.monitors === 0 ? (
        'It has no monitors.'
      ) : group.monitors > MOST_DELETED ? (
        <>
          Its {monitors} move to the default group and stay active. Its webhooks then receive their changes. To delete
          them, do that first in the{' '}
          <Link to="/monitors" search={{ group: group.slug }} className="underline">
            list of monitors
          </Link>
          , by a job that you can undo.
        </>
      ) : (
        <RadioGroup
          label={`Its ${monitors}`}
          value={fate}
          options={[
            {
              value: 'move',
              label: 'Move to the default group',
              hint: 'They stay active. The webhooks of the default group receive their changes.',
            },
            {
              value: 'delete',
              label: 'Delete',
              hint: 'Zonewatch stops checking them and deletes their event history.',
            },
          ]}
          onChange={setFate}
          className="my-3"
        />
      )}{' '}
      You cannot undo this.
    </Confirm>
  )
}
