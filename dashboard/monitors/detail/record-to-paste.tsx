import { useState } from 'react'
import type { ValueDifference } from '#contract/dashboard.ts'
import { Snippet } from '../../ui/copy.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import type { MonitorDetails } from '../queries.ts'
import { recordForms } from './record-forms.ts'

const DEFAULT_TTL = 3_600

type PasteProps = { monitor: MonitorDetails; record: NonNullable<ValueDifference['record']> }

/** The records with which the monitor would be valid, in the forms of providers and tools. */
export function RecordToPaste({ monitor, record }: PasteProps) {
  const { domain } = monitor
  const isInZone = record.name === domain || record.name.endsWith(`.${domain}`)
  const forms = recordForms({ ...record, zone: isInZone ? domain : undefined, ttl: publishedTtl(monitor) })
  const [chosen, setChosen] = useState('bind')
  const shown = forms.some(({ id }) => id === chosen) ? chosen : 'bind'
  return (
    <div className="border-t border-line px-4 py-3">
      <h3 className="mb-1 text-sm font-semibold">Record to paste</h3>
      <Tabs
        label="Record to paste"
        value={shown}
        onChange={setChosen}
        tabs={forms.map(({ id, label, text }) => ({
          value: id,
          label,
          content: <Snippet text={text} label={`Copy for ${label}`} />,
        }))}
      />
      <p className="mt-2 text-xs text-faint">
        All {record.type} records that the name then has. Check the TTL, which Zonewatch does not monitor.
      </p>
    </div>
  )
}

/** Of the name servers' own answer, because that of a cache runs down. */
function publishedTtl({ diagnosis }: MonitorDetails): number {
  const published = diagnosis?.paths.find(({ path, outcome }) => path === 'authoritative' && outcome?.kind === 'answer')
  return published?.outcome?.kind === 'answer' ? published.outcome.rrset.ttl : DEFAULT_TTL
}
