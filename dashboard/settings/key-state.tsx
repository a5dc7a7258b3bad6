import type { ApiKey } from '#contract/api-keys.ts'
import { Time } from '../ui/time.tsx'
import type { KeyCondition } from './keys.ts'

/** Until when it works, or since when it does not. */
export function KeyState({ apiKey, condition }: { apiKey: ApiKey; condition: KeyCondition }) {
  const { expires, revoked, previous_expires } = apiKey
  if (condition === 'revoked') return <span className="text-faint">Revoked {revoked && <Time at={revoked} />}</span>
  if (condition === 'expired') return <span className="text-faint">Expired {expires && <Time at={expires} />}</span>
  return (
    <span>
      {expires ? (
        <>
          Expires <Time at={expires} />
        </>
      ) : (
        'Does not expire'
      )}
      {previous_expires && (
        <span className="block text-xs text-warn">
          Rotated: the old key works until <Time at={previous_expires} isExact />
        </span>
      )}
    </span>
  )
}
