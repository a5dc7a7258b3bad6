import type { AuditAction, AuditEntry, AuditObject } from '#contract/audit-log.ts'
import { plural } from '#contract/wording.ts'

const NOUNS: Record<AuditObject, string> = {
  monitor: 'monitor',
  group: 'group',
  webhook: 'webhook',
  channel: 'channel',
  alert_rule: 'alert rule',
  incident: 'incident',
  job: 'job',
  setup_page: 'setup page',
  planned_change: 'planned change',
  maintenance_window: 'maintenance window',
  view: 'view',
  zone: 'zone',
  api_key: 'API key',
  agent: 'team member',
  invitation: 'invitation',
  organization: 'organization',
  billing: 'billing details',
  subscription: 'subscription',
}

/** Labels of the object filter. */
export const OBJECT_LABELS: Record<AuditObject, string> = {
  monitor: 'Monitors',
  group: 'Groups',
  webhook: 'Webhooks',
  channel: 'Channels',
  alert_rule: 'Alert rules',
  incident: 'Incidents',
  job: 'Jobs',
  setup_page: 'Setup pages',
  planned_change: 'Planned changes',
  maintenance_window: 'Maintenance windows',
  view: 'Views',
  zone: 'Zones',
  api_key: 'API keys',
  agent: 'Team and sign-ins',
  invitation: 'Invitations',
  organization: 'Organization',
  billing: 'Billing details',
  subscription: 'Plan',
}

const FIELDS: Record<string, string> = {
  expected_value: 'expected value',
  expected_name_servers: 'expected name servers',
  ignored: 'ignored findings',
  record_type: 'record type',
  is_exact_match: 'matching',
  is_active: 'status',
  notify: 'webhook notifications',
  frequency: 'interval',
  url: 'URL',
  timezone: 'time zone',
  rrule: 'recurrence',
  old_value: 'old value',
  new_value: 'new value',
  event_retention_days: 'event retention',
  alert_emails: 'alert addresses',
  logo: 'logo',
  notification_email: 'notification address',
  vat: 'VAT number',
  line1: 'address',
  line2: 'address, second line',
  zipcode: 'postal code',
  cancel_at: 'end date',
  grace_hours: 'grace period in hours',
  previous_expires: 'end of the previous key',
  request_id: 'request',
  since: 'start',
  until: 'end',
}

const NOTIFY: Record<string, string> = {
  immediately: 'on every change',
  on_success: 'when it becomes valid',
  after_success: 'when it was valid and no longer is',
}

export const fieldLabel = (field: string): string => FIELDS[field] ?? field.replaceAll('_', ' ')

/** A value of `before` or `after` as text. */
export function valueText(field: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(words).join(', ')
  if (field === 'limits') return limitsText(value as Record<string, number>)
  if (field === 'is_exact_match') return value === true ? 'exact' : 'flexible'
  if (field === 'is_active') return value === true ? 'enabled' : 'disabled'
  if (field === 'frequency') return `${String(value)} minutes`
  if (field === 'event_retention_days') return plural(Number(value), '1 day', (number) => `${number} days`)
  if (field === 'notify') return NOTIFY[String(value)] ?? String(value)
  return words(value)
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** An object, such as an ignored finding or quiet hours, with the names of its fields. */
function words(value: unknown): string {
  if (typeof value === 'string' && INSTANT.test(value)) return `${value.slice(0, 16).replace('T', ' ')} UTC`
  if (typeof value !== 'object' || value === null) return String(value)
  const fields = Object.entries(value).filter(([, each]) => each !== null && each !== '')
  return fields.map(([name, each]) => `${fieldLabel(name)} ${[each].flat().map(words).join(', ')}`).join(', ')
}

const limitsText = (limits: Record<string, number>) =>
  Object.entries(limits)
    .map(([kind, limit]) => `${kind} ${limit === 0 ? 'without limit' : `${limit} per minute`}`)
    .join(', ')

/** The changed fields with their values before and after. */
export function changesOf({ before, after }: AuditEntry): { field: string; from: unknown; to: unknown }[] {
  const names = Object.keys({ ...before, ...after })
  return names.map((field) => ({ field, from: before?.[field], to: after?.[field] }))
}

/** The sentence after the name of the actor: "changed the interval of www.example.com A from 5 minutes to 60 minutes". */
export function auditSentence(entry: AuditEntry): string {
  return SENTENCES[entry.action](entry)
}

type Sentence = (entry: AuditEntry) => string

/** One sentence for a named object, and one for several. */
const oneOrMany =
  (one: (label: string) => string, several: (count: string) => string): Sentence =>
  ({ object: { label }, object_count: count }) =>
    label === null ? several(count.toLocaleString('en')) : one(label)

const change =
  (object: Sentence = objectText): Sentence =>
  (entry) =>
    changeSentence(entry, object(entry))

const SENTENCES: Record<AuditAction, Sentence> = {
  'monitor.created': oneOrMany(
    (label) => `created monitor ${label}`,
    (count) => `created ${count} monitors`,
  ),
  'monitor.updated': change(),
  'monitor.enabled': oneOrMany(
    (label) => `enabled monitor ${label}`,
    (count) => `enabled ${count} monitors`,
  ),
  'monitor.disabled': oneOrMany(
    (label) => `disabled monitor ${label}`,
    (count) => `disabled ${count} monitors`,
  ),
  'monitor.deleted': oneOrMany(
    (label) => `deleted monitor ${label}`,
    (count) => `deleted ${count} monitors`,
  ),
  'group.created': ({ object }) => `created group ${object.label}`,
  'group.updated': change(),
  'group.monitors_updated': change(({ object, object_count: count }) =>
    plural(count, `1 monitor in group ${object.label}`, (number) => `${number} monitors in group ${object.label}`),
  ),
  'group.deleted': ({ object }) => `deleted group ${object.label}`,
  'webhook.created': ({ object }) => `created webhook ${object.label}`,
  'webhook.updated': change(),
  'webhook.enabled': ({ object }) => `enabled webhook ${object.label}`,
  'webhook.disabled': ({ object }) => `disabled webhook ${object.label}`,
  'webhook.deleted': ({ object }) => `deleted webhook ${object.label}`,
  'webhook.secret_rotated': ({ object }) => `rotated the secret of webhook ${object.label}`,
  'webhook.tested': ({ object }) => `sent a test to webhook ${object.label}`,
  'webhook.request_retried': ({ object }) => `retried a request to webhook ${object.label}`,
  'webhook.replayed': ({ object, object_count: count }) =>
    plural(
      count,
      `replayed 1 request to webhook ${object.label}`,
      (number) => `replayed ${number} requests to webhook ${object.label}`,
    ),
  'channel.created': ({ object }) => `created channel ${object.label}`,
  'channel.updated': change(),
  'channel.deleted': ({ object }) => `deleted channel ${object.label}`,
  'channel.tested': ({ object }) => `sent a test to channel ${object.label}`,
  'channel.alert_retried': ({ object }) => `sent an alert again: ${object.label}`,
  'channel.alerts_replayed': ({ object, object_count: count }) =>
    plural(
      count,
      `sent 1 alert to channel ${object.label} again`,
      (number) => `sent ${number} alerts to channel ${object.label} again`,
    ),
  'alert_rule.created': ({ object }) => `created alert rule ${object.label}`,
  'alert_rule.updated': change(),
  'alert_rule.deleted': ({ object }) => `deleted alert rule ${object.label}`,
  'incident.updated': change(),
  'job.created': ({ object }) => `started a job: ${jobText(object.label)}`,
  'job.canceled': ({ object }) => `canceled a job: ${jobText(object.label)}`,
  'job.undone': () => 'started to undo a job',
  'setup_page.renewed': ({ object }) => `created a new link for the setup page of ${object.label}`,
  'setup_page.deleted': ({ object }) => `deleted the setup page of ${object.label}`,
  'planned_change.created': ({ object }) => `planned a change of ${object.label}`,
  'planned_change.updated': change(),
  'planned_change.deleted': ({ object }) => `deleted the planned change of ${object.label}`,
  'maintenance_window.created': ({ object }) => `created maintenance window ${object.label}`,
  'maintenance_window.updated': change(),
  'maintenance_window.deleted': ({ object }) => `deleted maintenance window ${object.label}`,
  'view.created': ({ object }) => `saved view ${object.label}`,
  'view.updated': change(),
  'view.deleted': ({ object }) => `deleted view ${object.label}`,
  'zone.created': ({ object }) => `added zone ${object.label}`,
  'zone.updated': change(),
  'zone.deleted': ({ object }) => `deleted zone ${object.label}`,
  'api_key.created': ({ object }) => `created API key ${object.label}`,
  'api_key.updated': change(),
  'api_key.rotated': ({ object }) => `rotated API key ${object.label}`,
  'api_key.revoked': oneOrMany(
    (label) => `revoked API key ${label}`,
    (count) => `revoked ${count} API keys`,
  ),
  'agent.added': ({ object }) => `added ${object.label} to the team`,
  'agent.updated': change(),
  'agent.removed': ({ object }) => `removed ${object.label} from the team`,
  'agent.signed_in': ({ after }) => (after?.provider ? `signed in through ${after.provider}` : 'signed in'),
  'agent.renamed': (entry) => ownChangeSentence(entry),
  'agent.email_changed': (entry) => ownChangeSentence(entry),
  'agent.password_changed': () => 'changed their password',
  'agent.password_reset': () => 'reset their password with a link sent by email',
  'agent.second_factor_enabled': () => 'turned on two-factor authentication',
  'agent.second_factor_disabled': ({ actor, object }) =>
    actor.type === 'operator'
      ? `turned off two-factor authentication for ${object.label}`
      : 'turned off two-factor authentication',
  'agent.backup_codes_created': () => 'created new recovery codes',
  'invitation.created': ({ object, after }) => `invited ${object.label} as ${after?.role}`,
  'invitation.resent': ({ object }) => `resent the invitation of ${object.label}`,
  'invitation.revoked': oneOrMany(
    (label) => `revoked the invitation of ${label}`,
    (count) => `revoked ${count} invitations`,
  ),
  'invitation.accepted': ({ after }) => `accepted the invitation as ${after?.role}`,
  'organization.created': ({ object }) => `created the organization ${object.label}`,
  'organization.updated': change(() => 'the organization'),
  'organization.deletion_requested': ({ object }) => `requested the deletion of organization ${object.label}`,
  'organization.deletion_canceled': ({ object }) => `canceled the deletion of organization ${object.label}`,
  'billing.updated': change(() => 'the billing details'),
  'subscription.checkout_started': ({ after }) => `started the checkout of the plan ${after?.plan}`,
  'subscription.canceled': () => 'canceled the plan at the end of its period',
  'subscription.resumed': () => 'resumed the plan',
  'subscription.updated': change(() => 'the subscription'),
}

const JOBS: Record<string, string> = {
  update: 'change monitors',
  move: 'move monitors to another group',
  tag: 'add tags to monitors',
  untag: 'remove tags from monitors',
  replace: 'replace an expected value of monitors',
  accept: 'accept current values as expected',
  check: 'check monitors now',
  delete: 'delete monitors',
  undo: 'undo an earlier job',
}

const jobText = (action: string | null) => JOBS[action ?? ''] ?? action ?? ''

/** "monitor www.example.com A", or "3 monitors". */
function objectText({ object, object_count: count }: AuditEntry): string {
  const noun = NOUNS[object.type]
  return object.label === null ? `${count} ${noun}s` : `${noun} ${object.label}`
}

/** Longer values are only in the details. */
const MAX_VALUE_LENGTH = 60

function changeSentence(entry: AuditEntry, object: string): string {
  const { fields, from, to } = changeParams(entry)
  if (fields === undefined) return `changed ${object}`
  if (to === undefined) return `changed the ${fields} of ${object}`
  if (from === undefined) return `changed the ${fields} of ${object} to ${to}`
  return `changed the ${fields} of ${object} from ${from} to ${to}`
}

/** A change of the own account. */
function ownChangeSentence(entry: AuditEntry): string {
  const { fields, from, to } = changeParams(entry)
  if (fields === undefined) return 'changed their account'
  if (to === undefined) return `changed their ${fields}`
  if (from === undefined) return `changed their ${fields} to ${to}`
  return `changed their ${fields} from ${from} to ${to}`
}

type ChangeParams = { fields: string | undefined; from?: string; to?: string }

/** The names of the changed fields, and the values of a single field if both are short. */
function changeParams(entry: AuditEntry): ChangeParams {
  const changes = changesOf(entry)
  const [first] = changes
  if (!first) return { fields: undefined }
  const labels = changes.map(({ field }) => fieldLabel(field))
  if (labels.length > 1) return { fields: `${labels.slice(0, -1).join(', ')} and ${labels.at(-1)}` }
  const fields = fieldLabel(first.field)
  const [from, to] = [valueText(first.field, first.from), valueText(first.field, first.to)]
  if (from.length > MAX_VALUE_LENGTH || to.length > MAX_VALUE_LENGTH || from === to) return { fields }
  return entry.before === null ? { fields, to } : { fields, from, to }
}
