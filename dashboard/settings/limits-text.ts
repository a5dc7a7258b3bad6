import type { PlanLimits } from '#contract/subscription.ts'

/** A plan's limits in a line. */
export function limitsText(limits: PlanLimits): string {
  const { min_frequency, event_retention_days } = limits
  const parts = [
    counted(limits.monitors, 'monitor', 'monitors'),
    counted(limits.webhooks, 'webhook', 'webhooks'),
    counted(limits.agents, 'person', 'people'),
    counted(limits.api_keys, 'API key', 'API keys'),
    ...(min_frequency === null ? [] : [`checks every ${counted(min_frequency, 'minute', 'minutes')}`]),
    ...(event_retention_days === null ? [] : [`events for ${counted(event_retention_days, 'day', 'days')}`]),
  ]
  return parts.join(' · ')
}

function counted(count: number | null, one: string, many: string): string {
  if (count === null) return `unlimited ${many}`
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}
