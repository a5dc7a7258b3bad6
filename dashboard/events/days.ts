const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' })
const withYear = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })

/** Groups consecutive items by day, in the user's time zone. */
export function groupByDay<T extends { occurred: string }>(items: readonly T[]): { day: number; items: T[] }[] {
  const days: { day: number; items: T[] }[] = []
  for (const item of items) {
    const day = new Date(item.occurred).setHours(0, 0, 0, 0)
    const last = days.at(-1)
    if (last?.day === day) last.items.push(item)
    else days.push({ day, items: [item] })
  }
  return days
}

/** "Today", "Yesterday", "Monday, 3 November", with the year if it is another one. `day` is its midnight. */
export function dayText(day: number, now: number): string {
  const today = new Date(now)
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1)
  if (day === today.setHours(0, 0, 0, 0)) return 'Today'
  if (day === yesterday.getTime()) return 'Yesterday'
  return (new Date(day).getFullYear() === today.getFullYear() ? weekday : withYear).format(day)
}

/** The start of a day in the user's time zone, `days` later; undefined for an invalid date. */
export function dayStart(date: string | undefined, days = 0): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(date ?? '') ?? []
  if (!year) return undefined
  const start = new Date(Number(year), Number(month) - 1, Number(day) + days).getTime()
  return Number.isNaN(start) ? undefined : start
}
