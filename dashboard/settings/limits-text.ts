import type { PlanLimits } from '#contract/subscription.ts'
import { plural } from '#contract/wording.ts'

/** The limits of a plan in one line. */
export function limitsText(limits: PlanLimits): string {
  const { min_frequency, event_retention_days } = limits
  const parts = [
    limitText(limits.monitors, 'unlimited monitors', '1 monitor', (count) => `${count} monitors`),
    limitText(limits.webhooks, 'unlimited webhooks', '1 webhook', (count) => `${count} webhooks`),
    limitText(limits.agents, 'unlimited team members', '1 team member', (count) => `${count} team members`),
    limitText(limits.api_keys, 'unlimited API keys', '1 API key', (count) => `${count} API keys`),
    ...(min_frequency === null
      ? []
      : [plural(min_frequency, 'checks every minute', (count) => `checks every ${count} minutes`)]),
    ...(event_retention_days === null
      ? []
      : [plural(event_retention_days, 'events for 1 day', (count) => `events for ${count} days`)]),
  ]
  return parts.join(' · ')
}

const limitText = (limit: number | null, none: string, one: string, other: (count: string) => string): string =>
  limit === null ? none : plural(limit, one, other)
