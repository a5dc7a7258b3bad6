import { useEffect, useState } from 'react'

const STEP_MS = 1_000

/** The current time, every second while the page is visible. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now())
    }, STEP_MS)
    return () => clearInterval(timer)
  }, [])
  return now
}
