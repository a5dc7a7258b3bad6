import {
  CircleAlert,
  CircleCheck,
  CirclePause,
  Clock,
  type LucideIcon,
  OctagonX,
  PauseCircle,
  RotateCw,
} from 'lucide-react'
import type { PayloadInclude, Webhook, WebhookRequest } from '#contract/webhooks.ts'
import { Badge, type Tone } from '../ui/state.tsx'

type Look = { word: string; tone: Tone; icon: LucideIcon }

/** How a webhook fares. Disabled counts first: nothing is sent then, whatever the state. */
export function healthOf({ is_active, state, last_error }: Webhook): Health {
  if (!is_active) return 'disabled'
  if (state === 'paused') return 'paused'
  return last_error === null ? 'active' : 'failing'
}
export type Health = 'active' | 'failing' | 'paused' | 'disabled'

const HEALTH: Record<Health, Look> = {
  active: { word: 'Active', tone: 'good', icon: CircleCheck },
  failing: { word: 'Failing', tone: 'warn', icon: CircleAlert },
  paused: { word: 'Paused', tone: 'bad', icon: CirclePause },
  disabled: { word: 'Disabled', tone: 'idle', icon: PauseCircle },
}

export function HealthBadge({ webhook }: { webhook: Webhook }) {
  const { word, tone, icon } = HEALTH[healthOf(webhook)]
  return <Badge tone={tone} icon={icon} label={word} />
}

export type Status = WebhookRequest['status']

export const STATUSES: Record<Status, Look & { meaning: string }> = {
  DELIVERED: { word: 'Delivered', tone: 'good', icon: CircleCheck, meaning: 'Your endpoint responded with 2xx.' },
  PENDING: { word: 'Pending', tone: 'idle', icon: Clock, meaning: 'Waiting for the first attempt.' },
  RETRYING: {
    word: 'Retrying',
    tone: 'warn',
    icon: RotateCw,
    meaning: 'The last attempt failed. Zonewatch retries on schedule.',
  },
  FAILED: { word: 'Failed', tone: 'bad', icon: OctagonX, meaning: 'All retries failed. Send it again or replay it.' },
}

export function StatusBadge({ status }: { status: Status }) {
  const { word, tone, icon } = STATUSES[status]
  return <Badge tone={tone} icon={icon} label={word} />
}

/** What a payload can have beside the event. */
export const INCLUDES: Record<PayloadInclude, string> = {
  external_id: 'External id',
  metadata: 'Metadata',
  tags: 'Tags',
  group: 'Group',
  reason: 'Reason',
  difference: 'Records to change',
}
export const includeWord = (name: string): string => INCLUDES[name as PayloadInclude] ?? name
