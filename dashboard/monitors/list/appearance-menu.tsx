import { useQuery } from '@tanstack/react-query'
import { Columns3 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { KnownLabels } from '#contract/dashboard.ts'
import { METADATA_PREFIX } from '#contract/labels.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api } from '../../api.ts'
import { Button } from '../../ui/button.tsx'
import { Menu, MenuCheck, MenuItem, MenuLabel, MenuSeparator } from '../../ui/menu.tsx'
import type { TableModel } from '../../ui/table.tsx'
import { useIsWide } from '../../ui/use-min-width.ts'
import { COLUMN_IDS, isMetadata, type ListAppearance } from './appearance.ts'
import { visibleFields } from './columns.tsx'

const ColumnOrder = lazy(async () => ({ default: (await import('./column-order.tsx')).ColumnOrder }))

type AppearanceMenuProps = {
  table: TableModel<MonitorResponse>
  appearance: ListAppearance
  onAppearanceChange: (appearance: ListAppearance) => void
}

/** Columns of the list, their order, and the density of the rows. */
export function AppearanceMenu({ table, appearance, onAppearanceChange }: AppearanceMenuProps) {
  const isWide = useIsWide()
  const [isOrdering, setOrdering] = useState(false)
  const fields = table.getAllLeafColumns().filter(({ id }) => COLUMN_IDS.some((columnId) => columnId === id))
  return (
    <>
      <Menu
        trigger={
          <Button aria-label="Columns and density">
            <Columns3 /> <span className="max-sm:sr-only">Columns</span>
          </Button>
        }
      >
        <MenuCheck
          isOn={appearance.density === 'compact'}
          onChange={(isOn) => onAppearanceChange({ ...appearance, density: isOn ? 'compact' : 'comfortable' })}
        >
          Compact rows
        </MenuCheck>
        {isWide && (
          <>
            <MenuSeparator />
            <MenuLabel>Columns</MenuLabel>
            {fields.map((column) => (
              <MenuCheck
                key={column.id}
                isOn={column.getIsVisible()}
                isDisabled={!column.getCanHide()}
                onChange={(isOn) => column.toggleVisibility(isOn)}
              >
                {column.columnDef.header as string}
              </MenuCheck>
            ))}
            <MetadataColumns table={table} />
            <MenuSeparator />
            <MenuItem onSelect={() => setOrdering(true)}>Column order…</MenuItem>
            <MenuItem
              isDisabled={appearance.columns === undefined}
              onSelect={() => onAppearanceChange({ density: appearance.density })}
            >
              Default columns
            </MenuItem>
          </>
        )}
      </Menu>
      {isOrdering && (
        <Suspense>
          <ColumnOrder
            columns={visibleFields(table)}
            onOrder={(columns) => onAppearanceChange({ ...appearance, columns })}
            onClose={() => setOrdering(false)}
          />
        </Suspense>
      )}
    </>
  )
}

/** The metadata keys of the organization, and those that are visible. */
function MetadataColumns({ table }: Pick<AppearanceMenuProps, 'table'>) {
  const shown = table.getAllLeafColumns().flatMap(({ id }) => (isMetadata(id) ? [id] : []))
  const { data } = useQuery({
    queryKey: ['monitors', 'labels', { of: 'metadata', begin: '' }],
    staleTime: 30_000,
    queryFn: ({ signal }) => api.get<KnownLabels>('/dashboard/api/labels', { of: 'metadata' }, signal),
  })
  const known = data?.labels.map((key) => `${METADATA_PREFIX}${key}` as const) ?? []
  const ids = [...new Set([...known, ...shown])]
  if (ids.length === 0) return null
  return (
    <>
      <MenuSeparator />
      <MenuLabel>Metadata</MenuLabel>
      {ids.map((id) => (
        <MenuCheck
          key={id}
          isOn={shown.includes(id)}
          onChange={(isOn) => table.setColumnVisibility((now) => ({ ...now, [id]: isOn }))}
        >
          {id.slice(METADATA_PREFIX.length)}
        </MenuCheck>
      ))}
    </>
  )
}
