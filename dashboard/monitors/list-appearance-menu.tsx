import { useQuery } from '@tanstack/react-query'
import { Columns3 } from 'lucide-react'
import type { KnownLabels } from '#contract/dashboard.ts'
import { METADATA_PREFIX } from '#contract/labels.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Menu, MenuCheck, MenuItem, MenuLabel, MenuLine } from '../ui/menu.tsx'
import { COLUMN_IDS, columnsOf, isMetadata, type Look, withColumn } from './list-appearance.ts'
import { fieldLabel, lookHere } from './list-columns.tsx'
import { useIsWide } from './list-media.ts'

type LookProps = { look: Look; onLook: (look: Look) => void }

/** Which columns the list has, and how high its rows are. */
export function LookMenu({ look, onLook }: LookProps) {
  const isWide = useIsWide()
  const here = lookHere(look)
  const shown = columnsOf(here)
  return (
    <Menu
      trigger={
        <Button aria-label="Columns and density">
          <Columns3 /> <span className="max-sm:sr-only">Columns</span>
        </Button>
      }
    >
      <MenuCheck
        isOn={look.density === 'compact'}
        onChange={(isOn) => onLook({ ...look, density: isOn ? 'compact' : 'comfortable' })}
      >
        Compact rows
      </MenuCheck>
      {isWide && (
        <>
          <MenuLine />
          <MenuLabel>Columns</MenuLabel>
          {COLUMN_IDS.map((id) => (
            <MenuCheck
              key={id}
              isOn={shown.includes(id)}
              isDisabled={id === 'name'}
              onChange={(isOn) => onLook(withColumn(here, id, isOn))}
            >
              {fieldLabel(id)}
            </MenuCheck>
          ))}
          <MetadataColumns look={here} onLook={onLook} />
          <MenuLine />
          <MenuItem isDisabled={look.columns === undefined} onSelect={() => onLook({ density: look.density })}>
            Usual columns
          </MenuItem>
        </>
      )}
    </Menu>
  )
}

/** The keys that monitors have, and those that are shown. */
function MetadataColumns({ look, onLook }: LookProps) {
  const shown = columnsOf(look)
  const { data } = useQuery({
    queryKey: ['monitors', 'labels', { of: 'metadata', begin: '' }],
    staleTime: 30_000,
    queryFn: ({ signal }) => api.get<KnownLabels>('/dashboard/api/labels', { of: 'metadata' }, signal),
  })
  const known = data?.labels.map((key) => `${METADATA_PREFIX}${key}` as const) ?? []
  const ids = [...new Set([...known, ...shown.filter(isMetadata)])]
  if (ids.length === 0) return null
  return (
    <>
      <MenuLine />
      <MenuLabel>Metadata</MenuLabel>
      {ids.map((id) => (
        <MenuCheck key={id} isOn={shown.includes(id)} onChange={(isOn) => onLook(withColumn(look, id, isOn))}>
          {id.slice(METADATA_PREFIX.length)}
        </MenuCheck>
      ))}
    </>
  )
}
