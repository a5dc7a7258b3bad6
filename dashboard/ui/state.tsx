import {
  CircleCheck,
  CircleDashed,
  CircleSlash,
  EqualNot,
  FileQuestion,
  Hourglass,
  type LucideIcon,
  OctagonX,
  PauseCircle,
  Unplug,
} from 'lucide-react'
import type { MonitorState } from '#contract/monitors.ts'
import { STATE_LABELS } from '#contract/wording.ts'
import { cx } from './class-names.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'idle'

/** Icon and label differ for each state, so that color is never the only sign. */
export const STATE_DISPLAY: Record<MonitorState, { label: string; tone: Tone; icon: LucideIcon; meaning: string }> = {
  VALID: {
    label: STATE_LABELS.VALID,
    tone: 'good',
    icon: CircleCheck,
    meaning: 'The records match the expected values.',
  },
  MISMATCH: {
    label: STATE_LABELS.MISMATCH,
    tone: 'bad',
    icon: EqualNot,
    meaning: 'The records do not match the expected values.',
  },
  NOT_FOUND: {
    label: STATE_LABELS.NOT_FOUND,
    tone: 'bad',
    icon: FileQuestion,
    meaning: 'The name does not exist (NXDOMAIN).',
  },
  NO_DATA: {
    label: STATE_LABELS.NO_DATA,
    tone: 'bad',
    icon: CircleSlash,
    meaning: 'The name exists but has no record of this type.',
  },
  BAD_SETUP: {
    label: STATE_LABELS.BAD_SETUP,
    tone: 'bad',
    icon: Unplug,
    meaning: 'The DNS configuration of the name is broken, for example a CNAME loop or a lame delegation.',
  },
  INVALID: {
    label: STATE_LABELS.INVALID,
    tone: 'warn',
    icon: OctagonX,
    meaning: 'The query failed: SERVFAIL, REFUSED or a malformed answer.',
  },
  TIMEOUT: { label: STATE_LABELS.TIMEOUT, tone: 'warn', icon: Hourglass, meaning: 'No name server answered in time.' },
  UNSET: {
    label: STATE_LABELS.UNSET,
    tone: 'idle',
    icon: CircleDashed,
    meaning: 'No check has had a result since the monitor was created or changed.',
  },
}

/** Worst first. */
export const STATES = [
  'MISMATCH',
  'NOT_FOUND',
  'NO_DATA',
  'BAD_SETUP',
  'INVALID',
  'TIMEOUT',
  'UNSET',
  'VALID',
] as const satisfies MonitorState[]

export const TONE_TEXT: Record<Tone, string> = {
  good: 'text-good',
  bad: 'text-bad',
  warn: 'text-warn',
  idle: 'text-idle',
}
export const TONE_WASH: Record<Tone, string> = {
  good: 'bg-good-wash text-good',
  bad: 'bg-bad-wash text-bad',
  warn: 'bg-warn-wash text-warn',
  idle: 'bg-idle-wash text-idle',
}

/** The state as in the API, and what it means. */
export const stateTitle = (state: MonitorState) => `${state}: ${STATE_DISPLAY[state].meaning}`

/**
 * Icon and label of a state, with `stateTitle` as tooltip. With `isActive` false the monitor is disabled, and the tooltip has its
 * last known state. Use `hasTitle` false where the surrounding text explains the state. `note`: why the color would say too much.
 */
export function State({
  state,
  isActive = true,
  isBadge,
  hasTitle = true,
  note,
}: {
  state: MonitorState
  isActive?: boolean
  isBadge?: boolean
  hasTitle?: boolean
  note?: string | undefined
}) {
  const display = STATE_DISPLAY[state]
  const {
    label,
    tone: plainTone,
    icon: Icon,
  } = isActive ? display : { ...display, label: 'Disabled', tone: 'idle' as Tone, icon: PauseCircle }
  const tone = note === undefined ? plainTone : 'idle'
  const meaning = isActive ? stateTitle(state) : `Disabled. Last known: ${display.label} (${state}).`
  const title = note === undefined ? meaning : `${meaning} ${note}`
  return (
    <span
      {...(hasTitle && { title, 'aria-description': title })}
      className={cx(
        'inline-flex items-center gap-1.5 font-medium whitespace-nowrap',
        isBadge ? `rounded-full py-0.5 pr-2.5 pl-2 text-xs ${TONE_WASH[tone]}` : TONE_TEXT[tone],
      )}
    >
      <Icon className="size-[1.15em] shrink-0" strokeWidth={2.25} aria-hidden="true" />
      {label}
    </span>
  )
}

export function StateIcon({ state }: { state: MonitorState }) {
  const { icon: Icon, tone } = STATE_DISPLAY[state]
  return <Icon className={cx('size-3.5 shrink-0', TONE_TEXT[tone])} strokeWidth={2.25} aria-hidden="true" />
}

/** A label in the style of a monitor state, for webhooks, requests, invitations. */
export function Badge({ tone, icon: Icon, label }: { tone: Tone; icon?: LucideIcon; label: string }) {
  return (
    <span
      className={cx(
        'inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        TONE_WASH[tone],
      )}
    >
      {Icon && <Icon className="size-3.5 shrink-0" strokeWidth={2.25} aria-hidden="true" />}
      {label}
    </span>
  )
}
