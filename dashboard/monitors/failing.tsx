import { Link } from '@tanstack/react-router'
import type { Failing } from '#contract/dashboard.ts'
import { plural } from '#contract/wording.ts'

/** "4 of 9 active monitors are failing: 2 in 1 open incident, 1 awaited, 1 never valid." The same on every page that counts failures. */
export function failingText(failing: Failing, active: number): string {
  const of = `of ${plural(active, '1 active monitor', (number) => `${number} active monitors`)}`
  const count = plural(failing.monitors, `1 ${of} is`, (number) => `${number} ${of} are`)
  return `${count} failing: ${whereText(failing)}.`
}

/** "2 in 1 open incident, 1 awaited, 1 never valid": where each failing monitor is. */
export function whereText({ monitors, in_incidents, awaited, failed_now, never_valid, ...open }: Failing): string {
  const parts = [
    [in_incidents, incidentsText(open)],
    [awaited, 'awaited'],
    [failed_now, 'failed just now'],
    [never_valid, 'never valid'],
  ] as const
  return parts
    .filter(([count]) => count > 0)
    .map(([count, where]) => (count === monitors ? where : `${count.toLocaleString('en')} ${where}`))
    .join(', ')
}

const incidentsText = ({ incidents, acknowledged }: Pick<Failing, 'incidents' | 'acknowledged'>) =>
  `in ${plural(incidents, '1 open incident', (number) => `${number} open incidents`)}${
    acknowledged > 0 ? ` (${acknowledged.toLocaleString('en')} acknowledged)` : ''
  }`

/** Why more monitors fail than incidents have, and what to do; nothing if there is no difference. */
export function FailingNote({ failing: { awaited, never_valid } }: { failing: Failing }) {
  if (awaited + never_valid === 0) return null
  return (
    <p className="border-t border-line px-4 py-3 text-sm text-faint">
      {never_valid > 0 && (
        <>
          A monitor that was never valid opens no incident. Correct its record or its expected values, or let{' '}
          <Link
            to="/alerts"
            search={{ tab: 'rules' }}
            className="rounded-sm text-accent-ink underline underline-offset-2"
          >
            a rule
          </Link>{' '}
          include monitors that have never been valid.{' '}
        </>
      )}
      {awaited > 0 && 'Awaited records are queried often until they are found.'}
    </p>
  )
}
