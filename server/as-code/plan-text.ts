import { KINDS } from './kinds.ts'
import type { Change, Difference, Plan } from './plan.ts'

const SIGNS = { create: '+', update: '~', delete: '-' }

/** Lines for people. `width`: of a value. */
export function planText(plan: Plan): string {
  const lines = plan.changes.flatMap((change) => [
    `${SIGNS[change.action]} ${KINDS[change.kind].noun} ${change.key}`,
    ...change.differences.map((difference) => `    ${differenceText(change, difference)}`),
  ])
  return [...lines, ...(lines.length > 0 ? [''] : []), summaryText(plan), ...notes(plan)].join('\n')
}

export function countsOf({ changes }: Plan): Record<Change['action'], number> {
  const count = (action: Change['action']) => changes.filter((change) => change.action === action).length
  return { create: count('create'), update: count('update'), delete: count('delete') }
}

export function summaryText(plan: Plan): string {
  const { create, update, delete: deleted } = countsOf(plan)
  if (plan.changes.length === 0) return 'No changes.'
  return `${create} to create, ${update} to change, ${deleted} to delete.`
}

function notes({ label, kept, unmarked }: Plan): string[] {
  const notes: string[] = []
  if (kept.length > 0) {
    const names = kept.slice(0, 3).map(({ kind, key }) => `${KINDS[kind].noun} ${key}`)
    notes.push(
      `${kept.length} on the server are not in the files, and are kept: ${names.join(', ')}${kept.length > 3 ? ', …' : ''}.`,
    )
  }
  if (unmarked > 0)
    notes.push(
      `${unmarked} in the files do not have the label ${label}: to delete one, it is not enough to remove it from the files. apply --adopt gives them the label.`,
    )
  return notes
}

function differenceText({ action }: Change, { field, from, to }: Difference): string {
  if (action === 'update' && from === to) return `${field}: changed`
  return action === 'create' ? `${field}: ${valueText(to)}` : `${field}: ${valueText(from)} → ${valueText(to)}`
}

const MAX_CHARACTERS = 400

function valueText(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  const text =
    Array.isArray(value) && value.every((each) => typeof each === 'string')
      ? value.join(', ') || 'none'
      : plainText(value)
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}

const plainText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The output of --json. */
export function planJson(plan: Plan) {
  const { label, changes, kept, unmarked } = plan
  return {
    ...{ managed_by: label, counts: countsOf(plan) },
    changes: changes.map((change) => ({
      ...{ action: change.action, kind: change.kind, name: change.key },
      ...(change.action === 'create' ? {} : { id: change.existing.id }),
      ...(change.action === 'delete'
        ? {}
        : { file: change.wanted.item.place.file, line: change.wanted.item.place.line }),
      differences: change.differences,
    })),
    kept: kept.map(({ kind, key, id }) => ({ kind, name: key, id })),
    unmarked,
  }
}
