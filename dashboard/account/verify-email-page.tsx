import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../api.ts'
import { Button, ButtonLink } from '../ui/button.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useSubmit } from './form.ts'

const route = getRouteApi('/verify-email/$token')

/** A press of a button, not the opening of a link: mail programs open links to look at them. */
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
