import { useMutation, useQueryClient } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { useState } from 'react'
import type { WebhookRequest } from '#contract/webhooks.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Spinner } from '../ui/spinner.tsx'
import { AttemptDetails } from './attempt.tsx'
import { useAwaitedAttempt } from './use-awaited-attempt.ts'

export function TestResult({
  webhook,
  test,
  onOpen,
}: {
  webhook: string
  test: Test
  onOpen: (request: string) => void
}) {
  return (
    <Section
      title="Test"
      hint="A sample change of an A record, signed and sent once."
      className="mb-6"
      actions={
        <>
          {test.request && (
            <Button size="sm" variant="quiet" onClick={() => test.request && onOpen(test.request)}>
              View request
            </Button>
          )}
          <Button size="sm" variant="quiet" isSquare aria-label="Dismiss test" onClick={test.dismiss}>
            <X />
          </Button>
        </>
      }
    >
      <div aria-live="polite">
        {test.problem !== undefined ? (
          <ProblemNote problem={test.problem} />
        ) : (
          test.request && <TestAttempt key={test.request} webhook={webhook} request={test.request} />
        )}
      </div>
    </Section>
  )
}

function TestAttempt({ webhook, request }: { webhook: string; request: string }) {
  const { attempt, error, isOverdue } = useAwaitedAttempt(webhook, request, 0)
  if (attempt) return <AttemptDetails attempt={attempt} />
  if (error) return <ProblemNote problem={error} />
  if (isOverdue)
    return (
      <p className="text-sm text-soft">
        The test was not sent within a minute. The server may be busy. The request stays queued and is sent as soon as
        possible.
      </p>
    )
  return (
    <p className="flex items-center gap-2 text-sm text-soft">
      <Spinner /> Sending. Your endpoint has 30 seconds to respond.
    </p>
  )
}

export type Test = {
  isStarting: boolean
  /** There is a test or an error to show. */
  isShown: boolean
  request: string | undefined
  problem: unknown
  start: () => void
  dismiss: () => void
}

/** Sends a test, and stores the id of its request. */
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
