import type { ChannelField, ChannelType, ChannelTypeInfo } from '#contract/alerts.ts'
import type { HttpChannelType } from './channel-type.ts'
import { discord } from './discord.ts'
import { email } from './email.ts'
import { googleChat } from './google-chat.ts'
import { http } from './http.ts'
import { matrix } from './matrix.ts'
import { mattermost } from './mattermost.ts'
import { ntfy } from './ntfy.ts'
import { opsgenie } from './opsgenie.ts'
import { pagerduty } from './pagerduty.ts'
import { pushover } from './pushover.ts'
import { slack } from './slack.ts'
import { slackApp } from './slack-app.ts'
import { teams } from './teams.ts'
import { telegram } from './telegram.ts'
import { twilio } from './twilio.ts'

/** docs/recipes/add-a-channel.md says how to add one. */
export const HTTP_CHANNEL_TYPES: Record<Exclude<ChannelType, 'email'>, HttpChannelType> = {
  slack,
  slack_app: slackApp,
  discord,
  teams,
  telegram,
  pagerduty,
  opsgenie,
  ntfy,
  pushover,
  mattermost,
  google_chat: googleChat,
  matrix,
  twilio,
  http,
}

export const ALL_CHANNEL_TYPES = { email, ...HTTP_CHANNEL_TYPES }

type Property = {
  type: string
  title?: string
  secret?: true
  isUrl?: true
  description?: string
  maxLength?: number
  examples?: unknown[]
}

/** What a form needs to know of each type. */
export const channelTypeInfos = (): ChannelTypeInfo[] =>
  Object.values(ALL_CHANNEL_TYPES).map(({ type, name, help, settings }) => {
    const required = new Set((settings as { required?: string[] }).required ?? [])
    const fields = Object.entries(settings.properties as unknown as Record<string, Property>).map(
      ([name, property]) => ({
        name,
        label: property.title ?? name,
        kind: fieldKind(property),
        is_secret: property.secret === true,
        is_required: required.has(name),
        description: property.description ?? null,
        example: property.examples === undefined ? null : String(property.examples[0]),
        max_length: property.maxLength ?? null,
      }),
    )
    return { type, name, help, fields }
  })

function fieldKind({ type, isUrl }: Property): ChannelField['kind'] {
  if (type === 'boolean') return 'boolean'
  if (type === 'array') return 'addresses'
  return isUrl ? 'url' : 'text'
}
