import { useQueryClient } from '@tanstack/react-query'
import type { Agent } from '#contract/agents.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { useToast } from '../ui/toast.tsx'
import { AffectedKeys } from './affected-keys.tsx'

type RemoveProps = { agent: Agent; isYou: boolean; isOpen: boolean; onClose: () => void }

export function RemoveAgent({ agent, isYou, isOpen, onClose }: RemoveProps) {
  const { organization } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const remove = async () => {
    await api.delete(`/agents/${agent.id}`)
    if (isYou) {
      // All data on the page belongs to the organization that the user left.
      location.assign('/dashboard/')
      return
    }
    for (const key of ['agents', 'keys', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
    toast.done(`${agent.name} removed.`)
  }
  return (
    <Confirm
      isOpen={isOpen}
      onClose={onClose}
      title={isYou ? `Leave ${organization.name}?` : `Remove ${agent.name}?`}
      confirmLabel={isYou ? 'Leave' : 'Remove'}
      isDangerous
      onConfirm={remove}
    >
      <div className="flex flex-col gap-3">
        <p>
          {isYou
            ? 'You lose access at once and need a new invitation to return. Your pending invitations are revoked.'
            : `${agent.email} loses access at once, and their pending invitations are revoked. Monitors and webhooks are kept.`}
        </p>
        {isOpen && <AffectedKeys agent={agent} newRole={null} />}
      </div>
    </Confirm>
  )
}
