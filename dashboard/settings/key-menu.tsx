import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Ellipsis, KeyRound, Pencil, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { ApiKey } from '#contract/api-keys.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Checkbox } from '../ui/field.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { useToast } from '../ui/toast.tsx'
import { createdKeys, type KeyCondition } from './keys.ts'
import { keysQuery } from './queries.ts'

const EditKey = lazy(async () => ({ default: (await import('./edit-key.tsx')).EditKey }))
const RotateKey = lazy(async () => ({ default: (await import('./rotate-key.tsx')).RotateKey }))

export function KeyMenu({ apiKey, condition }: { apiKey: ApiKey; condition: KeyCondition }) {
  const { id, name } = apiKey
  const [open, setOpen] = useState<'edit' | 'rotate' | 'revoke'>()
  const queries = useQueryClient()
  const toast = useToast()
  const { data: keys = [] } = useQuery(keysQuery)
  const created = createdKeys(id, keys)
  const [revokesCreated, setRevokesCreated] = useState(false)
  const close = () => setOpen(undefined)
  const revoke = async () => {
    await api.delete(`/api-keys/${id}${revokesCreated ? '?created_keys=revoke' : ''}`)
    for (const key of ['keys', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
    toast.done(`API key ${name} revoked.`)
  }
  return (
    <>
      <Menu
        trigger={
          <Button variant="quiet" size="sm" isSquare aria-label={`Actions for API key ${name}`}>
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        {condition === 'live' && (
          <MenuItem icon={KeyRound} onSelect={() => setOpen('rotate')}>
            Rotate
          </MenuItem>
        )}
        <MenuSeparator />
        <MenuItem icon={Trash2} isDangerous onSelect={() => setOpen('revoke')}>
          Revoke
        </MenuItem>
      </Menu>
      <Suspense>
        {open === 'edit' && <EditKey apiKey={apiKey} onClose={close} />}
        {open === 'rotate' && <RotateKey apiKey={apiKey} onClose={close} />}
      </Suspense>
      <Confirm
        isOpen={open === 'revoke'}
        onClose={close}
        title={`Revoke ${name}?`}
        confirmLabel="Revoke key"
        isDangerous
        onConfirm={revoke}
      >
        Programs that use this key lose access at once. You cannot undo this.
        {created.length > 0 && (
          <Checkbox
            label={`Also revoke the keys that it created: ${created.map((key) => key.name).join(', ')}`}
            isChecked={revokesCreated}
            onChange={setRevokesCreated}
          />
        )}
      </Confirm>
    </>
  )
}
