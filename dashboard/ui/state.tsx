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
import { cx } from './class.ts'

export type Tone = 'good' | 'bad' | 'warn' | 'idle'

/** Each state has a shape and a word of its own: colour only repeats what they say. `meaning` is for anyone who sees it first. */
export const STATE_LOOKS: Record<MonitorState, { word: string; tone: Tone; icon: LucideIcon; meaning: string }> = {
  VALID: {
    word: STATE_LABELS.VALID,
    tone: 'good',
    icon: CircleCheck,
    meaning: 'The records match the expected values.',
  },
  MISMATCH: {
    word: STATE_LABELS.MISMATCH,
    tone: 'bad',
    icon: EqualNot,
    meaning: 'The records do not match the expected values.',
  },
  NOT_FOUND: {
    word: STATE_LABELS.NOT_FOUND,
    tone: 'bad',
    icon: FileQuestion,
    meaning: 'The name does not exist (NXDOMAIN).',
  },
  NO_DATA: {
    word: STATE_LABELS.NO_DATA,
    tone: 'bad',
    icon: CircleSlash,
    meaning: 'The name exists but has no record of this type.',
  },
  BAD_SETUP: {
    word: STATE_LABELS.BAD_SETUP,
    tone: 'bad',
    icon: Unplug,
    meaning: 'The DNS configuration of the name is broken, for example a CNAME loop or a lame delegation.',
  },
  INVALID: {
    word: STATE_LABELS.INVALID,
    tone: 'warn',
    icon: OctagonX,
    meaning: 'The query failed: SERVFAIL, REFUSED or a malformed answer.',
  },
  TIMEOUT: { word: STATE_LABELS.TIMEOUT, tone: 'warn', icon: Hourglass, meaning: 'No name server answered in time.' },
  UNSET: {
    word: STATE_LABELS.UNSET,
    tone: 'idle',
    icon: CircleDashed,
    meaning: 'Not checked since the monitor was created or changed.',
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

/** What a state means, with the word of the API. */
export const stateTitle = (state: MonitorState) => `${state}: ${STATE_LOOKS[state].meaning}`

/**
 * Icon and word of a state, with the word of the API for the mouse and for screen readers. `isActive` false: the monitor is
 * disabled, which the state then only remembers. `hasTitle` false: what is around it says what it means.
 */
export function State({
  state,
  isActive = true,
  isBadge,
  hasTitle = true,
}: {
  state: MonitorState
  isActive?: boolean
  isBadge?: boolean
  hasTitle?: boolean
}) {
  const look = STATE_LOOKS[state]
  const {
    word,
    tone,
    icon: Icon,
  } = isActive ? look : { ...look, word: 'Disabled', tone: 'idle' as Tone, icon: PauseCircle }
  const title = isActive ? stateTitle(state) : `Disabled. Last known: ${look.word} (${state}).`
  return (
    <span
      {...(hasTitle && { title, 'aria-description': title })}
      className={cx(
        'inline-flex items-center gap-1.5 font-medium whitespace-nowrap',
        isBadge ? `rounded-full py-0.5 pr-2.5 pl-2 text-xs ${TONE_WASH[tone]}` : TONE_TEXT[tone],
      )}
    >
      <Icon className="size-[1.15em] shrink-0" strokeWidth={2.25} aria-hidden="true" />
      {word}
    </span>
  )
}

export function StateIcon({ state }: { state: MonitorState }) {
  const { icon: Icon, tone } = STATE_LOOKS[state]
  return <Icon className={cx('size-3.5 shrink-0', TONE_TEXT[tone])} strokeWidth={2.25} aria-hidden="true" />
}

/** A word with the look of a state, for what is not a monitor: webhooks, requests, invitations. */
export function Badge({ tone, icon: Icon, children }: { tone: Tone; icon?: LucideIcon; children: string }) {
  return (
    <span
      className={cx(
        'inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap',
        TONE_WASH[tone],
      )}
    >
      {Icon && <Icon className="size-3.5 shrink-0" strokeWidth={2.25} aria-hidden="true" />}
      {children}
    </span>
  )
}
