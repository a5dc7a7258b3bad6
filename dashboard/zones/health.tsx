import { CircleAlert, CircleCheck, CircleDashed, Info, type LucideIcon, OctagonX, TriangleAlert } from 'lucide-react'
import type { FindingLevel, ZoneHealth } from '#contract/zone-codes.ts'
import { Badge, type Tone } from '../ui/state.tsx'

type Display = { label: string; tone: Tone; icon: LucideIcon }

const HEALTH: Record<ZoneHealth | 'info', Display> = {
  unknown: { label: 'Not checked yet', tone: 'idle', icon: CircleDashed },
  ok: { label: 'Healthy', tone: 'good', icon: CircleCheck },
  info: { label: 'Info', tone: 'idle', icon: Info },
  warning: { label: 'Warning', tone: 'warn', icon: TriangleAlert },
  error: { label: 'Error', tone: 'bad', icon: CircleAlert },
  critical: { label: 'Critical', tone: 'bad', icon: OctagonX },
}

/** Of a zone, or of one finding. */
export function HealthBadge({ health }: { health: ZoneHealth | FindingLevel }) {
  return <Badge {...HEALTH[health]} />
}

/** The choices of the filter. */
export const HEALTH_OPTIONS = [
  { value: '', label: 'All zones' },
  ...(['critical', 'error', 'warning', 'ok', 'unknown'] as const).map((value) => ({
    value,
    label: HEALTH[value].label,
  })),
]
