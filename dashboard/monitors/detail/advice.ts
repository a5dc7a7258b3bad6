import { ADVICE, stepsOf } from '#contract/advice.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'

/** What to do. `steps` are sentences in order, `add` and `remove` records in the form that DNS providers use. */
export type ShownAdvice = { title: string; steps: string[]; add: string[]; remove: string[] }

type MonitorFacts = Pick<MonitorResponse, 'state' | 'domain' | 'subdomain' | 'record_type' | 'is_active'> &
  Partial<Pick<MonitorResponse, 'diagnosis'>>

/** The advice of the diagnosis, and what to say where there is none. Pure. */
export function shownAdvice(monitor: MonitorFacts): ShownAdvice {
  const { state, diagnosis, is_active } = monitor
  if (state === 'UNSET') {
    if (is_active && diagnosis?.pending)
      return textOnly(
        'Not certain yet',
        'Zonewatch repeats the check in seconds to minutes, until the result is certain.',
      )
    return is_active
      ? textOnly('First check in progress', 'The result appears here as soon as the check ends.')
      : textOnly('Enable the monitor', 'Zonewatch does not check disabled monitors. Enable it to run a check now.')
  }
  if (state === 'VALID')
    return textOnly('No action needed', `The ${monitor.record_type} record of ${recordName(monitor)} is as expected.`)
  const advice = diagnosis?.advice
  if (!advice) return textOnly('Compare the records', 'The evidence below shows what each server answered.')
  const { add = [], remove = [] } = advice.params
  return { title: ADVICE[advice.code].title, steps: stepsOf(advice), add, remove }
}

const textOnly = (title: string, step: string): ShownAdvice => ({ title, steps: [step], add: [], remove: [] })
