import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../api.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { Card } from './card.tsx'

const route = getRouteApi('/verify-email/$token')

/** It needs a click, because mail programs open links by themselves. */
export function VerifyEmailPage() {
  const { token } = route.useParams()
  const [isDone, setDone] = useState(false)
  const { isBusy, problem, onSubmit } = useSubmit(async () => {
    await api.post('/dashboard/auth/verify-email', { token })
    setDone(true)
  })
  return (
    <Card title="Confirm your email" below={<Link to="/sign-in">Go to Zonewatch</Link>}>
      {isDone ? (
        <div role="status" className="flex flex-col gap-4 text-sm text-soft">
          Email confirmed. Use this address to sign in.
          <ButtonLink to="/" variant="primary">
            Continue
          </ButtonLink>
        </div>
      ) : (
        <form onSubmit={onSubmit} className="flex flex-col gap-4">
          <p className="text-sm text-soft">You will sign in with this address and receive notifications there.</p>
          {problem !== undefined && <ProblemNote problem={problem} />}
          <Button type="submit" variant="primary" isBusy={isBusy}>
            Confirm
          </Button>
        </form>
      )}
    </Card>
  )
}
