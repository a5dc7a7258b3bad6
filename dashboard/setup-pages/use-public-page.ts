import { useEffect, useState } from 'react'
import type { PublicPage } from '#contract/setup-pages.ts'

const POLL_MS = 5_000
/** Once everything is there, or while nobody looks. */
const SLOW_MS = 60_000

export type Answer =
  | { kind: 'loading' }
  | { kind: 'page'; page: PublicPage; isStale: boolean }
  /** The link is none, was revoked or has expired. */
  | { kind: 'gone' }
  | { kind: 'failed' }

/** What the link shows, asked again every few seconds. */
export function usePublicPage(path: string): Answer {
  const [answer, setAnswer] = useState<Answer>({ kind: 'loading' })
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isOver = false
    const failed = () =>
      setAnswer((before) => (before.kind === 'page' ? { ...before, isStale: true } : { kind: 'failed' }))
    const ask = async (): Promise<number | undefined> => {
      const response = await fetch(path, { headers: { accept: 'application/json' }, credentials: 'omit' })
      if (isOver) return undefined
      if (response.status === 404) {
        setAnswer({ kind: 'gone' })
        return undefined
      }
      if (!response.ok) {
        failed()
        return Math.max(POLL_MS, Number(response.headers.get('retry-after') ?? 0) * 1_000)
      }
      const page = (await response.json()) as PublicPage
      if (isOver) return undefined
      setAnswer({ kind: 'page', page, isStale: false })
      return page.is_done ? SLOW_MS : POLL_MS
    }
    const loop = async () => {
      clearTimeout(timer)
      const waitMs = await ask().catch(() => {
        if (!isOver) failed()
        return POLL_MS
      })
      if (isOver || waitMs === undefined) return
      timer = setTimeout(loop, document.hidden ? SLOW_MS : waitMs)
    }
    const onVisible = () => {
      if (!document.hidden) void loop()
    }
    document.addEventListener('visibilitychange', onVisible)
    void loop()
    return () => {
      isOver = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [path])
  return answer
}
