import { useEffect, useState } from 'react'
import type { PublicPage } from '#contract/setup-pages.ts'

const POLL_MS = 5_000
/** When all records are found, or while the page is hidden. */
const SLOW_MS = 60_000

export type PageState =
  | { kind: 'loading' }
  | { kind: 'page'; page: PublicPage; isStale: boolean }
  /** The link is unknown, revoked or expired. */
  | { kind: 'gone' }
  | { kind: 'failed' }

/** Polls the state of the setup page. */
export function usePublicPage(path: string): PageState {
  const [state, setState] = useState<PageState>({ kind: 'loading' })
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let isStopped = false
    const fail = () =>
      setState((previous) => (previous.kind === 'page' ? { ...previous, isStale: true } : { kind: 'failed' }))
    const poll = async (): Promise<number | undefined> => {
      const response = await fetch(path, { headers: { accept: 'application/json' }, credentials: 'omit' })
      if (isStopped) return undefined
      if (response.status === 404) {
        setState({ kind: 'gone' })
        return undefined
      }
      if (!response.ok) {
        fail()
        return Math.max(POLL_MS, Number(response.headers.get('retry-after') ?? 0) * 1_000)
      }
      const page = (await response.json()) as PublicPage
      if (isStopped) return undefined
      setState({ kind: 'page', page, isStale: false })
      return page.is_done ? SLOW_MS : POLL_MS
    }
    const loop = async () => {
      clearTimeout(timer)
      const waitMs = await poll().catch(() => {
        if (!isStopped) fail()
        return POLL_MS
      })
      if (isStopped || waitMs === undefined) return
      timer = setTimeout(loop, document.hidden ? SLOW_MS : waitMs)
    }
    const onVisible = () => {
      if (!document.hidden) void loop()
    }
    document.addEventListener('visibilitychange', onVisible)
    void loop()
    return () => {
      isStopped = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [path])
  return state
}
