import { Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { ImportPlan, MissingMonitor } from '#contract/dashboard.ts'
import { plural } from '#contract/wording.ts'
import { Button } from '../../ui/button.tsx'
import { Code, Section } from '../../ui/page.tsx'
import { Select } from '../../ui/select.tsx'
import { monitorHref } from '../list/query.ts'
import type { Compare } from './input.ts'

const BulkActionDialog = lazy(async () => ({
  default: (await import('../../jobs/bulk-action-dialog.tsx')).BulkActionDialog,
}))

const NONE = 'none'
const OPTIONS = [
  { value: NONE, label: 'Compare with nothing' },
  { value: 'group', label: 'Compare with the group' },
  { value: 'domains', label: 'Compare with the same domains' },
] as const

type MissingProps = {
  compare: Compare | undefined
  missing: ImportPlan['missing']
  onCompare: (compare: Compare | undefined) => void
}

/** Existing monitors that are not in the file. The user can delete them by a job. */
export function MissingMonitors({ compare, missing, onCompare }: MissingProps) {
  const [isDeleting, setDeleting] = useState(false)
  const monitors = missing?.monitors ?? []
  return (
    <Section
      title="Not in the file"
      hint="Existing monitors that are not in the file. The import does not change them."
      actions={
        <Select
          label="Compare"
          value={compare ?? NONE}
          options={OPTIONS}
          onChange={(next) => onCompare(next === NONE ? undefined : next)}
          className="sm:w-64!"
        />
      }
      isFlush
    >
      {missing && (
        <>
          <p role="status" className="px-4 py-2.5 text-sm text-soft tabular-nums">
            {plural(monitors.length, '1 monitor is not in the file.', (n) => `${n} monitors are not in the file.`)}
            {missing.is_partial && ' Only the first 10,000 monitors were compared.'}
          </p>
          {monitors.length > 0 && (
            <>
              <ul
                aria-label="Not in the file"
                className="max-h-60 divide-y divide-line overflow-y-auto border-y border-line"
              >
                {monitors.slice(0, MAX_SHOWN).map((monitor) => (
                  <MissingMonitorRow key={monitor.id} monitor={monitor} />
                ))}
              </ul>
              <div className="flex flex-wrap items-center justify-between gap-2 px-4 py-2.5">
                <span className="text-xs text-faint">
                  {monitors.length > MAX_SHOWN && `The first ${MAX_SHOWN} are shown.`}
                </span>
                <Button variant="danger" size="sm" onClick={() => setDeleting(true)}>
                  <Trash2 /> {plural(monitors.length, 'Delete 1 monitor', (n) => `Delete ${n} monitors`)}…
                </Button>
              </div>
            </>
          )}
        </>
      )}
      {isDeleting && (
        <Suspense>
          <BulkActionDialog
            act="delete"
            target={{ monitors: monitors.map(({ id }) => id) }}
            onClose={() => {
              setDeleting(false)
              onCompare(compare)
            }}
          />
        </Suspense>
      )}
    </Section>
  )
}

const MAX_SHOWN = 200

const MissingMonitorRow = ({ monitor: { id, name, record_type, expected_value } }: { monitor: MissingMonitor }) => (
  <li className="flex flex-wrap items-baseline gap-x-3 px-4 py-2 text-sm">
    <a href={monitorHref(id)} target="_blank" rel="noreferrer" className="rounded-sm hover:underline">
      <Code>{name}</Code>
    </a>
    <span className="text-xs font-medium text-soft">{record_type}</span>
    <Code className="min-w-0 truncate text-xs text-faint">{expected_value}</Code>
  </li>
)
