import { AGENT_ROLES, INVITATION_STATES } from '#contract/agents.ts'
import { NOTIFY, STATES } from '#contract/monitors.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import { INTERVALS, INVOICE_STATUSES, SUBSCRIPTION_STATUSES } from '#contract/subscription.ts'
import { REQUEST_STATUSES } from '#contract/webhooks.ts'

type Json = { [key: string]: unknown }

const ENUMERATIONS = new Map(
  Object.entries({
    RecordType: RECORD_TYPES,
    MonitorState: STATES,
    Notify: NOTIFY,
    AgentRole: AGENT_ROLES,
    InvitationState: INVITATION_STATES,
    RequestStatus: REQUEST_STATUSES,
    WebhookState: ['active', 'paused'],
    SubscriptionStatus: SUBSCRIPTION_STATUSES,
    Interval: INTERVALS,
    InvoiceStatus: INVOICE_STATUSES,
    OrderWay: ['asc', 'desc'],
  }).map(([name, values]) => [JSON.stringify(values), name]),
)

/** Converts `anyOf` of a plain type and null to one schema with two types. */
function nullable({ anyOf, ...others }: Json): Json | undefined {
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || anyOf[1]?.type !== 'null') return undefined
  const [schema] = anyOf as Json[]
  if (typeof schema?.type !== 'string') return undefined
  const values = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {}
  return { ...schema, ...values, type: [schema.type, 'null'], ...others }
}

/** Beside properties, generated types need values of any type: an index signature includes the properties. */
function widenMap(schema: Json): void {
  if ('properties' in schema && typeof schema.additionalProperties === 'object') schema.additionalProperties = true
}

/**
 * Replaces every schema that has a `title` with a reference, and returns the schemas by title, so that a generated client has one
 * type `Monitor`. Throws if two schemas have the same title.
 */
export function hoistTitled(root: unknown): Record<string, unknown> {
  const schemas: Record<string, unknown> = {}
  const texts: Record<string, string> = {}

  const visit = (value: unknown): unknown => {
    if (value === null || typeof value !== 'object') return value
    if (Array.isArray(value)) return value.map(visit)
    const visited = Object.fromEntries(Object.entries(value as Json).map(([key, child]) => [key, visit(child)]))
    widenMap(visited)
    const merged = nullable(visited)
    if (merged) return visit(merged)
    const name = ENUMERATIONS.get(JSON.stringify(visited.enum))
    if (name !== undefined) {
      const { type: _, enum: values, ...others } = visited
      schemas[name] = { type: 'string', enum: values }
      return { $ref: `#/components/schemas/${name}`, ...others }
    }
    const { title } = visited
    if (typeof title !== 'string' || !('type' in visited || 'anyOf' in visited)) return visited
    // The examples of a request body are outside of its schema.
    const { examples: _, ...compared } = visited
    const text = JSON.stringify(compared)
    texts[title] ??= text
    if (texts[title] !== text) throw new Error(`Two schemas have the title ${title}.`)
    schemas[title] = { ...(schemas[title] as Json | undefined), ...visited }
    return { $ref: `#/components/schemas/${title}` }
  }

  const paths = root as Json
  for (const [path, operations] of Object.entries(paths)) paths[path] = visit(operations)
  return schemas
}
