import { Time } from '../../ui/time.tsx'

/** When the evidence was collected. It is from the check that found the state, and may be older than the last check. */
export function EvidenceDate({ at, lastChecked }: { at: string | undefined; lastChecked?: string | null }) {
  if (at === undefined) return 'Collection time unknown.'
  const isOlder = lastChecked != null && Date.parse(lastChecked) - Date.parse(at) > SAME_CHECK_MS
  return (
    <>
      Collected <Time at={at} isExact />.{isOlder && ' Later checks found the same.'}
    </>
  )
}

/** The maximum duration of one check, including its confirmation. */
const SAME_CHECK_MS = 60_000
