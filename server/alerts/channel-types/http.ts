import { Type } from 'typebox'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import type { AlertMessage } from '../alert-message.ts'
import { httpChannelType, Secret, SecretUrl, Settings, Text } from './channel-type.ts'

/** A POST of JSON to any address. A template has placeholders such as `{{title}}` in its strings. */
export const http = httpChannelType({
  type: 'http',
  name: 'HTTP request',
  help: 'Zonewatch sends a POST with JSON. Without a template the body has every field of the alert.',
  settings: Settings({
    endpoint: SecretUrl('URL', { examples: ['https://alerts.example.com/zonewatch'] }),
    authorization: Type.Optional(
      Secret('Authorization header', { pattern: '^[\\x20-\\x7e]*$', examples: ['Bearer xxxx'] }),
    ),
    template: Type.Optional(
      Text('Body template', {
        maxLength: 10_000,
        description:
          'JSON with {{title}}, {{text}}, {{kind}}, {{incident}}, {{organization}}, {{facts}}, {{remedy}}, {{link}}, {{acknowledge}} or {{time}} in its texts.',
        examples: ['{"message": "{{title}}: {{link}}"}'],
      }),
    ),
  }),
  permanentStatuses: [410],
  request: (message, { endpoint, authorization, template }) => ({
    url: endpoint,
    headers: authorization === undefined ? {} : { authorization },
    body: template === undefined ? JSON.stringify(alertFields(message)) : fillTemplate(template, message),
  }),
})

const PLACEHOLDERS = [
  ...(['title', 'text', 'kind', 'incident', 'organization', 'facts', 'remedy', 'link', 'acknowledge', 'time'] as const),
] as const
type Placeholder = (typeof PLACEHOLDERS)[number]

function alertFields({ kind, id, key, organization, title, text, facts, remedy, link, acknowledge, at }: AlertMessage) {
  return {
    id,
    kind,
    incident: key,
    organization,
    title,
    text,
    facts,
    remedy,
    link: link.href,
    acknowledge,
    time: new Date(at).toISOString(),
  }
}

/** A placeholder is inside a JSON string, so its value is escaped like one. */
function fillTemplate(template: string, message: AlertMessage): string {
  const { facts, remedy, acknowledge, ...texts } = alertFields(message)
  const values: Record<Placeholder, string> = {
    ...texts,
    facts: facts.map(({ name, value }) => `${name}: ${value}`).join('\n'),
    remedy: remedy ?? '',
    acknowledge: acknowledge ?? '',
  }
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    JSON.stringify(values[name as Placeholder]).slice(1, -1),
  )
}

/** The value of one can have some thousand characters. */
const MAX_PLACEHOLDERS = 30

/** Each placeholder must be inside a string. An `x` in its place is valid JSON nowhere else: not in a number, and not after a backslash. */
export function findTemplateError(template: string): FieldError | undefined {
  const placeholders = [...template.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name!)
  const unknown = placeholders.find((name) => !PLACEHOLDERS.includes(name as Placeholder))
  if (unknown !== undefined)
    return fieldError('unknown_template_name', { given: unknown, allowed: PLACEHOLDERS.join(', ') })
  if (placeholders.length > MAX_PLACEHOLDERS) return fieldError('too_many_placeholders', { max: MAX_PLACEHOLDERS })
  try {
    JSON.parse(template.replace(/\{\{\w+\}\}/g, 'x'))
    return undefined
  } catch {
    return fieldError('invalid_template')
  }
}
