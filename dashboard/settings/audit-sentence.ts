import type { AuditAction, AuditEntry, AuditObject } from '#contract/audit-log.ts'

const NOUNS: Record<AuditObject, string> = {
  monitor: 'monitor',
  group: 'group',
  webhook: 'webhook',
  channel: 'channel',
  alert_rule: 'alert rule',
  incident: 'incident',
  api_key: 'API key',
  agent: 'team member',
  invitation: 'invitation',
  organization: 'organization',
  billing: 'billing details',
  subscription: 'subscription',
}

/** Of the filter by object. */
export const OBJECT_LABELS: Record<AuditObject, string> = {
  monitor: 'Monitors',
  group: 'Groups',
  webhook: 'Webhooks',
  channel: 'Channels',
  alert_rule: 'Alert rules',
  incident: 'Incidents',
  api_key: 'API keys',
  agent: 'Team and sign-ins',
  invitation: 'Invitations',
  organization: 'Organization',
  billing: 'Billing details',
  subscription: 'Plan',
}

const FIELDS: Record<string, string> = {
  expected_value: 'expected value',
  record_type: 'record type',
  is_exact_match: 'matching',
  is_active: 'status',
  notify: 'notifications',
  frequency: 'interval',
  url: 'URL',
  timezone: 'time zone',
  event_retention_days: 'event retention',
  alert_emails: 'alert addresses',
  notification_email: 'notification address',
  vat: 'VAT number',
  line1: 'address',
  line2: 'address, second line',
  zipcode: 'postal code',
  cancel_at: 'end date',
  grace_hours: 'hours with both secrets',
  request_id: 'request',
  since: 'first time',
  until: 'last time',
}

export const fieldLabel = (field: string): string => FIELDS[field] ?? field.replaceAll('_', ' ')

/** A value of `before` or `after` as a person reads it. */
export function valueText(field: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(String).join(', ')
  if (field === 'is_exact_match') return value === true ? 'exact' : 'flexible'
  if (field === 'is_active') return value === true ? 'enabled' : 'disabled'
  if (field === 'frequency') return `${String(value)} minutes`
  if (field === 'event_retention_days') return `${String(value)} days`
  if (field === 'notify') return String(value).replaceAll('_', ' ')
  return String(value)
}

/** The changed fields, with what they were before and after. */
export function changesOf({ before, after }: AuditEntry): { field: string; from: unknown; to: unknown }[] {
  const names = Object.keys({ ...before, ...after })
  return names.map((field) => ({ field, from: before?.[field], to: after?.[field] }))
}

/** What was done, after the name of who did it: "changed the interval of www.example.com A from 5 minutes to 60 minutes". */
export function auditSentence(entry: AuditEntry): string {
  const special = SENTENCES[entry.action]
  if (special) return special(entry)
  const verb = entry.action.split('.')[1]!
  return verb === 'updated' ? changedSentence(entry, nameOf(entry)) : `${verb} ${nameOf(entry)}`
}

type Sentence = (entry: AuditEntry) => string

/** Where "created monitor …" and "changed the … of …" would not say it. */
const SENTENCES: Partial<Record<AuditAction, Sentence>> = {
  'group.monitors_updated': (entry) => {
    const count = entry.object_count
    return changedSentence(entry, `${count} ${count === 1 ? 'monitor' : 'monitors'} in group ${entry.object.label}`)
  },
  'webhook.secret_rotated': (entry) => `rotated the secret of ${nameOf(entry)}`,
  'webhook.tested': (entry) => `sent a test to ${nameOf(entry)}`,
  'webhook.request_retried': (entry) => `retried a request to ${nameOf(entry)}`,
  'webhook.replayed': ({ object, object_count: count }) =>
    `replayed ${count} ${count === 1 ? 'request' : 'requests'} to webhook ${object.label}`,
  'channel.tested': (entry) => `sent a test to ${nameOf(entry)}`,
  'channel.alert_retried': ({ object }) => `sent an alert again: ${object.label}`,
  'agent.removed': ({ object }) => `removed ${object.label} from the team`,
  'agent.signed_in': () => 'signed in',
  'agent.renamed': (entry) => changedSentence(entry, null),
  'agent.email_changed': (entry) => changedSentence(entry, null),
  'agent.password_changed': () => 'changed their password',
  'agent.password_reset': () => 'reset their password with a link sent by email',
  'agent.second_factor_enabled': () => 'turned on two-factor authentication',
  'agent.second_factor_disabled': () => 'turned off two-factor authentication',
  'agent.backup_codes_created': () => 'created new backup codes',
  'invitation.created': ({ object, after }) => `invited ${object.label} as ${after?.role}`,
  'invitation.resent': ({ object }) => `resent the invitation of ${object.label}`,
  'invitation.revoked': (entry) =>
    entry.object.label === null ? `revoked ${nameOf(entry)}` : `revoked the invitation of ${entry.object.label}`,
  'invitation.accepted': ({ after }) => `accepted the invitation as ${after?.role}`,
  'organization.created': ({ object }) => `created the organization ${object.label}`,
  'organization.updated': (entry) => changedSentence(entry, 'the organization'),
  'billing.updated': (entry) => changedSentence(entry, 'the billing details'),
  'subscription.checkout_started': ({ after }) => `started to buy the plan ${after?.plan}`,
  'subscription.canceled': () => 'canceled the plan at the end of its period',
  'subscription.resumed': () => 'resumed the plan',
  'subscription.updated': (entry) => changedSentence(entry, 'the subscription'),
}

function nameOf({ object, object_count: count }: AuditEntry): string {
  const noun = NOUNS[object.type]
  return object.label === null ? `${count} ${noun}s` : `${noun} ${object.label}`
}

/** Short values are told; others are in the details. */
const LONGEST = 60

/** `what`: null for the own account. */
function changedSentence(entry: AuditEntry, what: string | null): string {
  const changes = changesOf(entry)
  const labels = changes.map(({ field }) => fieldLabel(field))
  const all = labels.length > 1 ? `${labels.slice(0, -1).join(', ')} and ${labels.at(-1)}` : labels[0]
  const [one] = changes
  const sentence = what === null ? `changed their ${all}` : `changed the ${all} of ${what}`
  if (!one || changes.length > 1) return one ? sentence : `changed ${what}`
  const [from, to] = [valueText(one.field, one.from), valueText(one.field, one.to)]
  if (from.length > LONGEST || to.length > LONGEST || from === to) return sentence
  return entry.before === null ? `${sentence} to ${to}` : `${sentence} from ${from} to ${to}`
}
