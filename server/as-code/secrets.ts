import { ALL_CHANNEL_TYPES } from '../alerts/channel-types/channel-types.ts'
import type { KindName } from './format.ts'

export type Environment = Readonly<Record<string, string | undefined>>
type Value = Record<string, unknown>

/** `unset`: what cannot be known, because the variable is not set. `value` has a placeholder there. */
export type Resolved = { value: Value; unset: { path: string[]; variable: string }[] }

/** As long as any secret must be. */
const PLACEHOLDER = 'x'.repeat(32)
const VARIABLE = /^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/

/** Replaces `${NAME}` in the fields that are secrets. Errors never show a value. */
export function resolveSecrets(
  kind: KindName,
  given: Value,
  environment: Environment,
): Resolved & { missing: string[]; errors: Record<string, string> } {
  const value = structuredClone(given)
  const unset: Resolved['unset'] = []
  const errors: Record<string, string> = {}
  for (const { parent, path, mayBeLiteral } of secretFields(kind, value)) {
    const key = path.at(-1)!
    const written = parent[key]
    const variable = typeof written === 'string' ? VARIABLE.exec(written)?.[1] : undefined
    if (variable !== undefined) {
      const found = environment[variable]
      parent[key] = found || PLACEHOLDER
      if (!found) unset.push({ path, variable })
    } else if (!mayBeLiteral && written !== undefined) {
      parent[key] = PLACEHOLDER
      errors[path.join('.')] = `is a secret. Put it into an environment variable, and write \${NAME} here.`
    }
  }
  return { value, unset, missing: unset.map(({ variable }) => variable), errors }
}

type Field = { parent: Value; path: string[]; mayBeLiteral: boolean }

function secretFields(kind: KindName, value: Value): Field[] {
  const fieldsOf = (field: string, names: (parent: Value) => string[], mayBeLiteral: boolean): Field[] => {
    const parent = value[field]
    if (typeof parent !== 'object' || parent === null) return []
    return names(parent as Value).map((name) => ({ parent: parent as Value, path: [field, name], mayBeLiteral }))
  }
  if (kind === 'webhooks') {
    const secret = value.secret === undefined ? [] : [{ parent: value, path: ['secret'], mayBeLiteral: false }]
    return [...secret, ...fieldsOf('headers', Object.keys, true)]
  }
  if (kind !== 'channels') return []
  return fieldsOf('settings', (settings) => secretSettings(value.type).filter((name) => name in settings), false)
}

/** The settings of a channel type that the server never returns. */
export function secretSettings(type: unknown): string[] {
  const known = Object.hasOwn(ALL_CHANNEL_TYPES, String(type))
  if (!known) return []
  const { properties } = ALL_CHANNEL_TYPES[type as keyof typeof ALL_CHANNEL_TYPES].settings
  return Object.entries(properties as Record<string, { secret?: boolean }>).flatMap(([name, { secret }]) =>
    secret ? [name] : [],
  )
}
