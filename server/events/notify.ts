import type { MonitorState, Notify } from '#contract/monitors.ts'

/** Whether an event is delivered, by the monitor's `notify`. */
export function isNotified(notify: Notify, oldState: MonitorState, newState: MonitorState): boolean {
  switch (notify) {
    case 'immediately':
      return true
    case 'on_success':
      return newState === 'VALID' && oldState !== 'VALID'
    case 'after_success':
      return oldState === 'VALID' && newState !== 'VALID'
  }
}
