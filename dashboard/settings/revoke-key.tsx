import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ApiKey } from '#contract/account.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { useToast } from '../ui/toast.tsx'

export function RevokeKey({ apiKey: { id, name } }: { apiKey: ApiKey }) {
  const queries = useQueryClient()
  const toast = useToast()
  const [isAsking, setAsking] = useState(false)
  const revoke = async () => {
    await api.delete(`/dashboard/api/keys/${id}`)
    for (const key of ['keys', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
    toast.done(`The key ${name} is revoked.`)
  }
  return (
    <>
      <Button size="sm" look="danger" onClick={() => setAsking(true)} aria-label={`Revoke the key ${name}`}>
        Revoke
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title={`Revoke ${name}?`}
        act="Revoke key"
        isDangerous
        onConfirm={revoke}
      >
        Whatever uses this key is refused within seconds. This cannot be taken back; make a new key instead.
      </Confirm>
    </>
  )
}
