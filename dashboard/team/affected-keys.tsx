import { useQuery } from '@tanstack/react-query'
import type { Agent } from '#contract/agents.ts'
import { plural } from '#contract/wording.ts'
import { affectedKeys } from '../settings/keys.ts'
import { keysQuery } from '../settings/queries.ts'

/** The keys that are revoked with the agent (`newRole` null), or that lose permissions with the new role. */
export function AffectedKeys({ agent, newRole }: { agent: Agent; newRole: Agent['role'] | null }) {
  const { data } = useQuery(keysQuery)
  const keys = affectedKeys(data ?? [], agent.id, newRole, Date.now())
  if (keys.length === 0) return null
  return (
    <div className="text-sm text-warn">
      <p>{newRole === null ? revokedText(keys.length) : limitedText(keys.length, newRole)}</p>
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

const revokedText = (count: number): string =>
  plural(
    count,
    'This API key is revoked at once. Programs that use it stop working:',
    (number) => `These ${number} API keys are revoked at once. Programs that use them stop working:`,
  )

const limitedText = (count: number, role: Agent['role']): string =>
  plural(
    count,
    `This API key is limited to the permissions of the role ${role}. Programs that use it may stop working:`,
    (number) =>
      `These ${number} API keys are limited to the permissions of the role ${role}. Programs that use them may stop working:`,
  )
