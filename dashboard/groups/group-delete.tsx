import { useQueryClient } from '@tanstack/react-query'
import type { Group } from '#contract/groups.ts'
import { api } from '../api.ts'
import { Confirm } from '../ui/dialog.tsx'
import { useToast } from '../ui/toast.tsx'
import { countText, groupPath, refreshGroups } from './queries.ts'

type GroupDeleteProps = { group: Group; isOpen: boolean; onClose: () => void; onDeleted?: () => void }

export function GroupDelete({ group, isOpen, onClose, onDeleted }: GroupDeleteProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const remove = async () => {
    await api.delete(groupPath(group.id))
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
      act="Delete group"
      isDangerous
      onConfirm={remove}
    >
      {group.monitors === 0
        ? 'It has no monitors.'
        : `Its ${countText(group.monitors)} move to the default group and stay active. Its webhooks then receive their changes.`}{' '}
      You cannot undo this.
    </Confirm>
  )
}
