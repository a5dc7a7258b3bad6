import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { WebhookRequest } from '#contract/webhooks.ts'
import { api } from '../api.ts'

export type Test = {
  isStarting: boolean
  /** Something to show: a test, or why there is none. */
  isShown: boolean
  request: string | undefined
  problem: unknown
  start: () => void
  dismiss: () => void
}

/** Sends a test, and keeps which one it is. */
export function useTest(webhook: string): Test {
  const queries = useQueryClient()
  const [request, setRequest] = useState<string>()
  const send = useMutation({
    mutationFn: () => api.post<WebhookRequest>(`/webhooks/${webhook}/test`),
    onSuccess: ({ id }) => {
      setRequest(id)
      void queries.invalidateQueries({ queryKey: ['requests', webhook] })
    },
  })
  return {
    isStarting: send.isPending,
    isShown: request !== undefined || send.error !== null,
    request,
    problem: send.error ?? undefined,
    start: () => send.mutate(),
    dismiss: () => {
      setRequest(undefined)
      send.reset()
    },
  }
}
