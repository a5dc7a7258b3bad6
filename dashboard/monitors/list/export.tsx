import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { ExportFormat, SelectedExport } from '#contract/export.ts'
import { plural } from '#contract/wording.ts'
import { api, organizationUrl, type Query } from '../../api.ts'
import { download } from '../../download.ts'
import { Button, ButtonAnchor } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ProblemNote } from '../../ui/problem.tsx'
import { RadioGroup } from '../../ui/radio-group.tsx'

const PATH = '/dashboard/api/monitors/export'

const FORMATS = [
  { value: 'csv', label: 'CSV', hint: 'For spreadsheets.' },
  { value: 'json', label: 'JSON', hint: 'Every field, as in the API.' },
  { value: 'zone', label: 'Zone file', hint: 'The expected values as DNS records.' },
] as const

type ExportProps = {
  /** Filters and order of the list. */
  query: Query
  /** The number of monitors in the list, as text; undefined if unknown. */
  total: string | undefined
  /** Ids in the order of the list. Empty: the whole list. */
  selected: readonly string[]
  columns: readonly { id: string; label: string }[]
  onClose: () => void
}

/** Downloads the selected monitors or the whole list. */
export function ExportDialog({ query, total, selected, columns, onClose }: ExportProps) {
  const form = useId()
  const [scope, setScope] = useState<'selected' | 'list'>(selected.length > 0 ? 'selected' : 'list')
  const [format, setFormat] = useState<ExportFormat>('csv')
  const [columnSet, setColumnSet] = useState<'all' | 'shown'>('all')
  // The bars are a picture. Their days are exported on the page of each monitor.
  const exported = columns.filter(({ id }) => id !== 'uptime')
  const request = {
    format,
    ...(format === 'csv' && columnSet === 'shown' ? { columns: exported.map(({ id }) => id).join(',') } : {}),
  }
  const save = useMutation({
    mutationFn: () => api.post<string>(PATH, { ...request, monitors: [...selected] } satisfies SelectedExport),
    onSuccess: (text) => {
      download(`monitors.${format}`, text)
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const list = `All ${total ?? 'monitors'} in this list`
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title="Export monitors"
      description={selected.length === 0 ? `${list}, in the same order.` : undefined}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {scope === 'list' ? (
            <ButtonAnchor
              variant="primary"
              href={organizationUrl(PATH, { ...query, ...request })}
              download
              onClick={onClose}
            >
              Download
            </ButtonAnchor>
          ) : (
            <Button variant="primary" type="submit" form={form} isBusy={save.isPending}>
              Download
            </Button>
          )}
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-5">
        {selected.length > 0 && (
          <RadioGroup
            label="Monitors"
            value={scope}
            options={[
              {
                value: 'selected',
                label: plural(selected.length, 'The selected monitor', (number) => `The ${number} selected monitors`),
              },
              { value: 'list', label: list },
            ]}
            onChange={setScope}
          />
        )}
        <RadioGroup label="Format" value={format} options={FORMATS} onChange={setFormat} />
        {format === 'csv' && (
          <RadioGroup
            label="Columns"
            value={columnSet}
            options={[
              { value: 'all', label: 'All columns', hint: 'The file can be imported again.' },
              { value: 'shown', label: 'Columns of the list', hint: exported.map(({ label }) => label).join(', ') },
            ]}
            onChange={setColumnSet}
          />
        )}
        {save.error && <ProblemNote problem={save.error} />}
      </form>
    </Dialog>
  )
}
