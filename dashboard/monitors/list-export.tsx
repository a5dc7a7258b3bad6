import { Download } from 'lucide-react'
import { addressHere } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Menu, MenuItem, MenuLabel } from '../ui/menu.tsx'
import { type ListSearch, orderedQuery } from './list-query.ts'

const FORMATS = [
  { format: 'csv', label: 'CSV' },
  { format: 'json', label: 'JSON' },
  { format: 'zone', label: 'Zone file' },
]

/** All monitors that the list finds, in its order, as a download. */
export function ExportMenu({ search }: { search: ListSearch }) {
  return (
    <Menu
      trigger={
        <Button aria-label="Export">
          <Download /> <span className="max-sm:sr-only">Export</span>
        </Button>
      }
    >
      <MenuLabel>All monitors of this list</MenuLabel>
      {FORMATS.map(({ format, label }) => {
        const href = addressHere('/dashboard/api/monitors/export', { ...orderedQuery(search), format })
        return (
          <MenuItem key={format} render={<a href={href} download />}>
            {label}
          </MenuItem>
        )
      })}
    </Menu>
  )
}
