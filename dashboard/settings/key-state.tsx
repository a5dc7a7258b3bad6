import type { ApiKey } from '#contract/account.ts'
import { Time } from '../ui/time.tsx'
import type { KeyCondition } from './keys.ts'

/** Until when it works, or since when it does not. */
export function KeyState({ apiKey: { expires, revoked }, condition }: { apiKey: ApiKey; condition: KeyCondition }) {
  if (condition === 'revoked') return <span className="text-faint">Revoked {revoked && <Time at={revoked} />}</span>
  if (condition === 'expired') return <span className="text-faint">Expired {expires && <Time at={expires} />}</span>
  return expires ? (
    <span>
      Expires <Time at={expires} />
    </span>
  ) : (
    <span>Does not expire</span>
  )
}
