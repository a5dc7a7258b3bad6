import { useQuery } from '@tanstack/react-query'
import type { MonitorResponse } from '#contract/monitors.ts'
import type { Uptime, Uptimes } from '#contract/uptime.ts'
import { api } from '../api.ts'
import { DayColumns } from './columns.tsx'
import { summaryText } from './day.ts'

/** The last 30 days of a monitor, in a list. */
export function UptimeBar({ monitor: { id, state } }: { monitor: MonitorResponse }) {
  const { data } = useQuery({
    // A new state is a new day.
    queryKey: ['uptime', id, state],
    queryFn: () => load(id),
    staleTime: 5 * 60_000,
  })
  if (!data) return null
  const text = summaryText(data)
  return (
    <span role="img" aria-label={text} title={text} className="block">
      <DayColumns days={data.days} height={16} />
    </span>
  )
}

type Waiting = { resolve: (uptime: Uptime | null) => void; reject: (error: unknown) => void }
let waiting = new Map<string, Waiting[]>()

/** Rows that appear together share a request: scrolling fast through a list asks a few times a second. */
const GATHER_MS = 150
const MAX_IDS = 100

function load(id: string): Promise<Uptime | null> {
  return new Promise((resolve, reject) => {
    if (waiting.size === 0) setTimeout(() => void send(), GATHER_MS)
    waiting.set(id, [...(waiting.get(id) ?? []), { resolve, reject }])
  })
}

async function send(): Promise<void> {
  const all = [...waiting]
  waiting = new Map()
  for (let from = 0; from < all.length; from += MAX_IDS) await sendSome(all.slice(from, from + MAX_IDS))
}

async function sendSome(some: [string, Waiting[]][]): Promise<void> {
  try {
    const { data } = await api.get<Uptimes>('/monitors/uptime', { ids: some.map(([id]) => id).join() })
    const byId = new Map(data.map((uptime) => [uptime.monitor_id, uptime]))
    for (const [id, readers] of some) for (const { resolve } of readers) resolve(byId.get(id) ?? null)
  } catch (error) {
    for (const [, readers] of some) for (const { reject } of readers) reject(error)
  }
}
