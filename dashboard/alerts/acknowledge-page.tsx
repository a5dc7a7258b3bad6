import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { Acknowledgement } from '#contract/incidents.ts'
import { Card } from '../account/card.tsx'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'

const route = getRouteApi('/alert-acknowledgement/$token')

/** The page behind the link of a message. It needs a click, because mail programs open links by themselves. */
export function AcknowledgePage() {
  const { token } = route.useParams()
  const path = `/alert-acknowledgements/${token}`
  const { data, error } = useQuery({
    queryKey: ['acknowledgement', token],
    queryFn: ({ signal }) => api.get<Acknowledgement>(path, {}, signal),
    retry: false,
  })
  const [done, setDone] = useState<Acknowledgement>()
  const { isBusy, problem, onSubmit } = useSubmit(async () => setDone(await api.post<Acknowledgement>(path, {})))
  const acknowledgement = done ?? data
  return (
    <Card title="Acknowledge an incident">
      {error ? (
        <ProblemNote problem={error} />
      ) : !acknowledgement ? (
        <Skeleton lines={3} />
      ) : (
        <div className="flex flex-col gap-4">
          <p className="font-medium break-words">{acknowledgement.title}</p>
          <p role="status" className="text-sm text-soft">
            {statusText(acknowledgement)}
          </p>
          {problem !== undefined && <ProblemNote problem={problem} />}
          {acknowledgement.state === 'open' && (
            <form onSubmit={onSubmit} className="flex flex-col">
              <Button type="submit" variant="primary" isBusy={isBusy}>
                Acknowledge
              </Button>
            </form>
          )}
        </div>
      )}
    </Card>
  )
}

function statusText({ state, organization, acknowledged_by }: Acknowledgement): string {
  if (state === 'resolved') return 'The incident is resolved. There is nothing to acknowledge.'
  if (state === 'acknowledged')
    return `Acknowledged by ${acknowledged_by}. There are no further alerts about it for ${organization} until it recovers.`
  return `There are no further alerts about this incident for ${organization} until it recovers.`
}
