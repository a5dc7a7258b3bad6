import { Type } from 'typebox'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import type { Notice } from '../notice.ts'
import { httpMedium, Secret, SecretUrl, Settings, Text } from './channel.ts'

/** A POST of JSON to any address. In the template, `{{title}}` and the others stand for texts, and are escaped for JSON. */
export const http = httpMedium({
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
  permanent: [410],
  request: (notice, { endpoint, authorization, template }) => ({
    url: endpoint,
    headers: authorization === undefined ? {} : { authorization },
    body: template === undefined ? JSON.stringify(fieldsOf(notice)) : filled(template, notice),
  }),
})

const NAMES = [
  ...(['title', 'text', 'kind', 'incident', 'organization', 'facts', 'remedy', 'link', 'acknowledge', 'time'] as const),
] as const
type Named = Record<(typeof NAMES)[number], string>

function fieldsOf({ kind, id, key, organization, title, text, facts, remedy, link, acknowledge, at }: Notice) {
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

/** A name is inside a JSON string, so that its value is escaped as a string. */
function filled(template: string, notice: Notice): string {
  const { facts, remedy, acknowledge, ...texts } = fieldsOf(notice)
  const named: Named = {
    ...texts,
    facts: facts.map(({ name, value }) => `${name}: ${value}`).join('\n'),
    remedy: remedy ?? '',
    acknowledge: acknowledge ?? '',
  }
  return template.replace(/\{\{(\w+)\}\}/g, (_, name: string) =>
    JSON.stringify(named[name as keyof Named]).slice(1, -1),
  )
}

/** Why a template cannot be used; null if it can. */
export function refusalOfTemplate(template: string): FieldError | null {
  const unknown = [...template.matchAll(/\{\{(\w+)\}\}/g)].find(([, name]) => !NAMES.includes(name as keyof Named))
  if (unknown) return fieldError('unknown_template_name', { given: unknown[1]!, allowed: NAMES.join(', ') })
  try {
    JSON.parse(template.replace(/\{\{\w+\}\}/g, ''))
    return null
  } catch {
    return fieldError('invalid_template')
  }
}
