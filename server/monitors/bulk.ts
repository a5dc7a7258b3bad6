import { fieldError } from '#contract/field-errors.ts'
import { MAX_BULK_MONITORS, type NewMonitor, type NewMonitors } from '#contract/monitors.ts'
import type { FieldErrors } from '../problem.ts'
import { yieldToEventLoop } from '../yield.ts'
import { type MonitorDraft, parseMonitor } from './parse-monitor.ts'

/** Items judged before the event loop is yielded. */
const SLICE = 100

/**
 * Every item, an item's own value before the one beside the list, with each error at `monitors.<i>.<field>`. Where there
 * are errors the drafts are not all there. What is not a list of objects is passed over: the schema reports it.
 */
export async function parseMonitors(given: NewMonitors): Promise<{ drafts: MonitorDraft[]; errors: FieldErrors }> {
  const drafts: MonitorDraft[] = []
  const errors: FieldErrors = {}
  for (const [place, item] of itemsOf(given).entries()) {
    if (place % SLICE === SLICE - 1) await yieldToEventLoop()
    if (typeof item !== 'object' || item === null || Array.isArray(item)) continue
    const parsed = parseMonitor(itemAt(given, place))
    if (given.on_conflict === 'update' && item.external_id == null) {
      errors[fieldAt(given, place, 'external_id')] = fieldError('required')
    }
    if (parsed.ok) drafts.push(parsed.draft)
    else for (const [field, sentence] of Object.entries(parsed.errors)) errors[fieldAt(given, place, field)] = sentence
  }
  return { drafts, errors }
}

/** With the values beside the list where it has none of its own. */
export function itemAt({ monitors, group, notify, frequency }: NewMonitors, place: number): NewMonitor {
  const preset = Object.entries({ group, notify, frequency }).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(preset), ...monitors[place]! }
}

/** Every group that the request names, by its field. */
export function groupsNamed(given: NewMonitors): Record<string, unknown> {
  const named = itemsOf(given).map((item, place) => [`monitors.${place}.group`, item?.group])
  return Object.fromEntries([['group', given.group], ...named])
}

/** What may be anything where the schema refused it. Those beyond the limit are not looked at: a body has room for very many. */
function itemsOf({ monitors }: NewMonitors): (NewMonitor | null)[] {
  return Array.isArray(monitors) ? monitors.slice(0, MAX_BULK_MONITORS) : []
}

/** The path of an item's field; a group that an item takes from beside the list is at fault there. */
export function fieldAt({ monitors }: NewMonitors, place: number, field: string): string {
  const isPreset = field === 'group' && (monitors[place] as NewMonitor).group === undefined
  return isPreset ? 'group' : `monitors.${place}.${field}`
}
