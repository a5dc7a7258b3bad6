import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Ellipsis, History, KeyRound, PauseCircle, Pencil, PlayCircle, Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { useToast } from '../ui/toast.tsx'

const EditWebhook = lazy(async () => ({ default: (await import('./edit-webhook.tsx')).EditWebhook }))
const RotateSecret = lazy(async () => ({ default: (await import('./rotate-secret.tsx')).RotateSecret }))
const ReplayRequests = lazy(async () => ({ default: (await import('./replay.tsx')).ReplayRequests }))

const SEEN = [
  'url',
  'headers',
  'groups',
  'all_groups',
  'zone_events',
  'payload_includes',
  'batch',
  'is_active',
] as const

export function WebhookMenu({ webhook }: { webhook: Webhook }) {
  const [open, setOpen] = useState<'edit' | 'rotate' | 'replay' | 'disable' | 'delete'>()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const toast = useToast()
  const unchanged = useUnchanged()
  const close = () => setOpen(undefined)
  const refresh = () => {
    for (const key of ['webhooks', 'groups', 'requests']) void queries.invalidateQueries({ queryKey: [key] })
  }
  const path = `/webhooks/${webhook.id}`
  const setActive = async (is_active: boolean) =>
    await api.patchIfMatch(path, { is_active }, await unchanged(path, webhook, SEEN))
  const enable = async () => {
    try {
      await setActive(true)
      refresh()
      toast.done('Webhook enabled. Queued requests are being sent.')
    } catch (problem) {
      toast.failed(problem)
    }
  }
  const disable = async () => {
    await setActive(false)
    refresh()
  }
  const remove = async () => {
    await api.deleteIfMatch(path, await unchanged(path, webhook, SEEN))
    await navigate({ to: '/webhooks' })
    queries.removeQueries({ queryKey: ['webhooks', 'one', webhook.id] })
    refresh()
    toast.done('Webhook deleted.')
  }
  return (
    <>
      <Menu
        trigger={
          <Button isSquare aria-label="More actions">
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={History} onSelect={() => setOpen('replay')}>
          Replay requests
        </MenuItem>
        <MenuItem icon={KeyRound} onSelect={() => setOpen('rotate')}>
          Rotate secret
        </MenuItem>
        <MenuSeparator />
        {webhook.is_active ? (
          <MenuItem icon={PauseCircle} onSelect={() => setOpen('disable')}>
            Disable
          </MenuItem>
        ) : (
          <MenuItem icon={PlayCircle} onSelect={() => void enable()}>
            Enable
          </MenuItem>
        )}
        <MenuItem icon={Trash2} isDangerous onSelect={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      <Suspense>
        {open === 'edit' && <EditWebhook webhook={webhook} onClose={close} />}
        {open === 'rotate' && <RotateSecret webhook={webhook} onClose={close} />}
        {open === 'replay' && <ReplayRequests webhook={webhook} onClose={close} />}
      </Suspense>
      <Confirm
        isOpen={open === 'disable'}
        onClose={close}
        title="Disable this webhook?"
        confirmLabel="Disable"
        onConfirm={disable}
      >
        Changes that occur while the webhook is disabled are not sent, now or later. Requests that are already queued
        are sent when you enable it again.
      </Confirm>
      <Confirm
        isOpen={open === 'delete'}
        onClose={close}
        title="Delete this webhook?"
        confirmLabel="Delete webhook"
        isDangerous
        onConfirm={remove}
      >
        Undelivered requests and the request log are deleted. You cannot undo this.
      </Confirm>
    </>
  )
}
