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

type Display = { label: string; tone: Tone; icon: LucideIcon }

/** A disabled webhook is disabled whatever its state. */
export function webhookHealth({ is_active, state, last_error }: Webhook): Health {
  if (!is_active) return 'disabled'
  if (state === 'paused') return 'paused'
  return last_error === null ? 'active' : 'failing'
}
export type Health = 'active' | 'failing' | 'paused' | 'disabled'

const HEALTH_DISPLAY: Record<Health, Display> = {
  active: { label: 'Active', tone: 'good', icon: CircleCheck },
  failing: { label: 'Failing', tone: 'warn', icon: CircleAlert },
  paused: { label: 'Paused', tone: 'bad', icon: CirclePause },
  disabled: { label: 'Disabled', tone: 'idle', icon: PauseCircle },
}

export function HealthBadge({ webhook }: { webhook: Webhook }) {
  return <Badge {...HEALTH_DISPLAY[webhookHealth(webhook)]} />
}

export type Status = WebhookRequest['status']

export const STATUS_DISPLAY: Record<Status, Display & { meaning: string }> = {
  DELIVERED: { label: 'Delivered', tone: 'good', icon: CircleCheck, meaning: 'Your endpoint responded with 2xx.' },
  PENDING: { label: 'Pending', tone: 'idle', icon: Clock, meaning: 'Waiting for the first attempt.' },
  RETRYING: {
    label: 'Retrying',
    tone: 'warn',
    icon: RotateCw,
    meaning: 'The last attempt failed. Zonewatch retries on schedule.',
  },
  FAILED: { label: 'Failed', tone: 'bad', icon: OctagonX, meaning: 'All retries failed. Send it again or replay it.' },
}

export function StatusBadge({ status }: { status: Status }) {
  return <Badge {...STATUS_DISPLAY[status]} />
}

/** Additional fields of the payload. */
export const INCLUDES: Record<PayloadInclude, string> = {
  external_id: 'External id',
  metadata: 'Metadata',
  tags: 'Tags',
  group: 'Group',
  reason: 'Reason',
  difference: 'Records to change',
  setup_page: 'Setup page',
}
export const includeLabel = (name: string): string => INCLUDES[name as PayloadInclude] ?? name
