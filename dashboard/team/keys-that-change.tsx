import { useQuery } from '@tanstack/react-query'
import type { Agent } from '#contract/agents.ts'
import { keysThatChange } from '../settings/keys.ts'
import { keysQuery } from '../settings/queries.ts'

/** Which keys of an agent are revoked with the agent (`newRole` null) or may do less with the new role. Nothing where there are none. */
export function KeysThatChange({ agent, newRole }: { agent: Agent; newRole: Agent['role'] | null }) {
  const { data } = useQuery(keysQuery)
  const keys = keysThatChange(data?.data ?? [], agent.id, newRole, Date.now())
  if (keys.length === 0) return null
  const effect = newRole === null ? 'revoked at once' : `limited to the permissions of the role ${newRole}`
  return (
    <div className="text-sm text-warn">
      <p>
        {keys.length === 1 ? 'This API key is' : `These ${keys.length} API keys are`} {effect}; programs that use{' '}
        {keys.length === 1 ? 'it' : 'them'} may stop working:
      </p>
      <ul className="mt-1 max-h-40 list-disc overflow-y-auto pl-5">
        {keys.map(({ id, name }) => (
          <li key={id} className="break-words">
            {name}
          </li>
        ))}
      </ul>
    </div>
  )
}
