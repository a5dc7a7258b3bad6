import {
  CalendarClock,
  CirclePause,
  CirclePlay,
  Clock,
  FolderInput,
  ListChecks,
  type LucideIcon,
  PencilLine,
  Replace,
  RotateCw,
  Tag,
  Tags,
  Trash2,
} from 'lucide-react'
import type { NewJob } from '#contract/jobs.ts'

/** What a job does, without its monitors. */
export type JobParameters = Omit<NewJob, keyof JobTarget>
/** Which monitors or webhook requests a job is for. */
export type JobTarget = Pick<NewJob, 'monitors' | 'filter' | 'all' | 'requests'>

/** `parameters`: of an action without a form. */
type Action = { label: string; icon: LucideIcon; isDangerous?: true; parameters?: JobParameters }

/** What the list can do with the selected monitors, in the order of its menu. */
export const BULK_ACTIONS = {
  check: { label: 'Check now', icon: RotateCw, parameters: { action: 'check' } },
  enable: { label: 'Enable', icon: CirclePlay, parameters: { action: 'update', change: { is_active: true } } },
  disable: { label: 'Disable', icon: CirclePause, parameters: { action: 'update', change: { is_active: false } } },
  expect: { label: 'Set expected values', icon: PencilLine },
  replace: { label: 'Replace an expected value', icon: Replace },
  accept: { label: 'Accept current values', icon: ListChecks, parameters: { action: 'accept' } },
  plan: { label: 'Plan a change', icon: CalendarClock },
  tag: { label: 'Add tags', icon: Tag },
  untag: { label: 'Remove tags', icon: Tags },
  move: { label: 'Move to group', icon: FolderInput },
  frequency: { label: 'Set check interval', icon: Clock },
  delete: { label: 'Delete', icon: Trash2, isDangerous: true, parameters: { action: 'delete' } },
} satisfies Record<string, Action>
export type BulkAction = keyof typeof BULK_ACTIONS
