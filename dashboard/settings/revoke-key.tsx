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
    toast.done(`API key ${name} revoked.`)
  }
  return (
    <>
      <Button size="sm" look="danger" onClick={() => setAsking(true)} aria-label={`Revoke API key ${name}`}>
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
        Programs that use this key lose access within seconds. You cannot undo this.
      </Confirm>
    </>
  )
}
