import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Group } from '#contract/groups.ts'
import { monitorsText } from '#contract/wording.ts'
import { api } from '../api.ts'
import { Confirm } from '../ui/dialog.tsx'
import { RadioGroup } from '../ui/radio-group.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupPath, refreshGroups } from './queries.ts'

// Importing the constant of contract/ would load its schemas too.
const MAX_DELETED = 500

type GroupDeleteProps = { group: Group; isOpen: boolean; onClose: () => void; onDeleted?: () => void }

export function GroupDelete({ group, isOpen, onClose, onDeleted }: GroupDeleteProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const [monitorAction, setMonitorAction] = useState<'move' | 'delete'>('move')
  const monitors = monitorsText(group.monitors)
  const deletesMonitors = monitorAction === 'delete' && group.monitors > 0
  const remove = async () => {
    await api.delete(`${groupPath(group.id)}${deletesMonitors ? '?monitors=delete' : ''}`)
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
      confirmLabel={deletesMonitors ? `Delete group and ${monitors}` : 'Delete group'}
      isDangerous
      onConfirm={remove}
    >
      {group.monitors === 0 ? (
        'It has no monitors.'
      ) : group.monitors > MAX_DELETED ? (
        <>
          Its {monitors} move to the default group and stay active. The webhooks of the default group then receive their
          changes. To delete them, do that first in the{' '}
          <Link to="/monitors" search={{ group: group.slug }} className="underline">
            monitor list
          </Link>
          , by a job that you can undo.
        </>
      ) : (
        <RadioGroup
          label={`Its ${monitors}`}
          value={monitorAction}
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
          onChange={setMonitorAction}
          className="my-3"
        />
      )}{' '}
      You cannot undo this.
    </Confirm>
  )
}
