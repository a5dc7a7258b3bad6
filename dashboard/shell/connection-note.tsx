import { WifiOff } from 'lucide-react'
import { useConnection } from '../connection.ts'
import { fullTime } from '../ui/time.tsx'

/** Shown above every page while the server cannot be reached. */
export function ConnectionNote() {
  const { isLost, isOffline, lastResponseAt, problem } = useConnection()
  return (
    <div role="alert" className="sticky top-0 z-40 max-lg:top-14">
      {isLost && (
        <p className="flex gap-2.5 border-b border-line bg-bad-wash px-4 py-2.5 text-sm text-bad sm:px-6 lg:px-8">
          <WifiOff className="mt-0.5 size-4 shrink-0" strokeWidth={2.25} aria-hidden="true" />
          <span>
            <strong className="font-semibold">
              {isOffline ? 'You are offline.' : 'Connection to the server lost.'}
            </strong>{' '}
            {!isOffline && `${problem} `}Last update: {fullTime(lastResponseAt)}. Reconnecting …
          </span>
        </p>
      )}
    </div>
  )
}
