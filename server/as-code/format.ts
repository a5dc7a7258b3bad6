import { type TSchema, Type } from 'typebox'
import { NewAlertRule, NewChannel } from '#contract/alerts.ts'
import { Name, Nullable, Slug, StrictObject } from '#contract/common.ts'
import { newLabels } from '#contract/labels.ts'
import { NewMaintenanceWindow } from '#contract/maintenance.ts'
import { NewMonitor } from '#contract/monitors.ts'
import { NewWebhook } from '#contract/webhooks.ts'
import { NewZone, ZoneChange } from '#contract/zones.ts'

/** The order in which they are created: each refers only to those before it. */
export const KIND_NAMES = [
  'groups',
  'channels',
  'webhooks',
  'alert_rules',
  'monitors',
  'maintenance_windows',
  'zones',
] as const
export type KindName = (typeof KIND_NAMES)[number]

/** They have no metadata, so what is not in the files is deleted only if the files say that they are complete. */
export const UNLABELED = ['channels', 'webhooks', 'alert_rules', 'maintenance_windows'] as const
export type Unlabeled = (typeof UNLABELED)[number]

/** The key of the metadata of monitors and groups that says whose files they are in. */
export const MANAGED_BY = 'managed-by'
export const DEFAULT_LABEL = 'monitors-as-code'
/** The external ids that `apply` gives to monitors without one. */
export const GENERATED_ID = 'code/'

const isActive = Type.Optional(Type.Boolean({ description: 'Default: true.' }))
const { until: _until, setup_page: _page, ...monitor } = NewMonitor.properties
const { group, notify, frequency, resolution, is_exact_match } = monitor
const ENVIRONMENT = `Secrets are written as \`\${NAME}\`, and come from the environment.`

/** The shape of each item: that of POST in the API, with names in the place of ids. */
export const ITEMS: Record<KindName, TSchema> = {
  groups: StrictObject({ slug: Slug, name: Type.Optional(Name), ...newLabels }),
  channels: StrictObject({
    ...NewChannel.properties,
    settings: Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      description: `The settings of the type: GET /channel-types lists them. ${ENVIRONMENT}`,
    }),
    is_active: isActive,
  }),
  webhooks: StrictObject({
    ...NewWebhook.properties,
    secret: Type.Optional(
      Type.String({ minLength: 16, maxLength: 256, description: `Default: the server generates one. ${ENVIRONMENT}` }),
    ),
    is_active: isActive,
  }),
  alert_rules: StrictObject({
    ...NewAlertRule.properties,
    channels: Type.Array(Name, { minItems: 1, maxItems: 10, description: 'Names of channels.' }),
    escalation_channel: Type.Optional(
      Nullable(Type.String({ maxLength: 250, description: 'The name of another channel.' })),
    ),
  }),
  monitors: StrictObject(monitor),
  maintenance_windows: StrictObject({
    ...NewMaintenanceWindow.properties,
    monitors: Type.Optional(
      Nullable(
        Type.Array(Type.String({ minLength: 1, maxLength: 300 }), {
          minItems: 1,
          maxItems: 100,
          description: 'Monitors: their external ids, or name and type, such as `www.example.com A`.',
        }),
      ),
    ),
  }),
  zones: StrictObject({ name: NewZone.properties.name, ...ZoneChange.properties }),
}

/** One file. All files together describe the organization. */
export const CodeFile = StrictObject(
  {
    managed_by: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_.-]{1,40}$',
        description: `Who the monitors and groups belong to: the metadata \`${MANAGED_BY}\`. Only what has it is deleted when it is not in the files any more. Default: \`${DEFAULT_LABEL}\`.`,
      }),
    ),
    owns: Type.Optional(
      Type.Array(Type.Enum(UNLABELED), {
        maxItems: UNLABELED.length,
        description: 'The files have all of these: what is not in them is deleted. Default: none.',
      }),
    ),
    defaults: Type.Optional(
      StrictObject(
        { group, notify, frequency, resolution, is_exact_match },
        { description: 'For the monitors of this file.' },
      ),
    ),
    ...Object.fromEntries(KIND_NAMES.map((name) => [name, Type.Optional(Type.Array(ITEMS[name]))])),
  },
  { title: 'Zonewatch monitors as code' },
)

export const SCHEMA_FILE = 'zonewatch.schema.json'

/** For editors. The keys beginning with `x-` are of the API. */
export function jsonSchema(): string {
  const leaveOut = (key: string, value: unknown) => (key.startsWith('x-') || key === 'isUrl' ? undefined : value)
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...CodeFile }, leaveOut, 1)}\n`
}
