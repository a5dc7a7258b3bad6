import type { NewMonitor, NewMonitors } from '#contract/monitors.ts'
import type { FieldErrors } from '../problem.ts'
import { giveWay } from '../turns.ts'
import { type MonitorDraft, parseMonitor } from './monitor.ts'

/** Items judged before others have a turn. */
const SLICE = 100

/**
 * Every item, an item's own value before the one beside the list, with each error at `monitors.<i>.<field>`. Where there
 * are errors the drafts are not all there. What is not a list of objects is passed over: the schema reports it.
 */
export async function parseMonitors(given: NewMonitors): Promise<{ drafts: MonitorDraft[]; errors: FieldErrors }> {
  const { group, notify, frequency } = given
  const preset = Object.fromEntries(
    Object.entries({ group, notify, frequency }).filter(([, value]) => value !== undefined),
  )
  const items = Array.isArray(given.monitors) ? given.monitors : []
  const drafts: MonitorDraft[] = []
  const errors: FieldErrors = {}
  for (const [place, item] of items.entries()) {
    if (place % SLICE === SLICE - 1) await giveWay()
    if (typeof item !== 'object' || item === null || Array.isArray(item)) continue
    const parsed = parseMonitor({ ...preset, ...item })
    if (parsed.ok) drafts.push(parsed.draft)
    else for (const [field, sentence] of Object.entries(parsed.errors)) errors[fieldAt(given, place, field)] = sentence
  }
  return { drafts, errors }
}

/** Every group that the request names, by its field. */
export function groupsNamed({ group, monitors }: NewMonitors): Record<string, unknown> {
  const items: (Partial<NewMonitor> | null)[] = Array.isArray(monitors) ? monitors : []
  return Object.fromEntries([['group', group], ...items.map((item, place) => [`monitors.${place}.group`, item?.group])])
}

/** The path of an item's field; a group that an item takes from beside the list is at fault there. */
export function fieldAt({ monitors }: NewMonitors, place: number, field: string): string {
  const isPreset = field === 'group' && (monitors[place] as NewMonitor).group === undefined
  return isPreset ? 'group' : `monitors.${place}.${field}`
}
