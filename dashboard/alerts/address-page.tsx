import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { Card } from '../account/card.tsx'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'

type Address = { email: string; organization: string }
const confirmRoute = getRouteApi('/alert-address/confirm/$token')
const unsubscribeRoute = getRouteApi('/alert-address/unsubscribe/$token')

export function ConfirmAddressPage() {
  const { token } = confirmRoute.useParams()
  return (
    <AddressPage
      path={`/alert-addresses/confirm/${token}`}
      title="Receive alerts"
      text="Confirm that you want to receive alerts of Zonewatch at this address."
      submitLabel="Receive alerts"
      done={({ email, organization }) => `${email} receives alerts of ${organization} from now on.`}
    />
  )
}

export function UnsubscribePage() {
  const { token } = unsubscribeRoute.useParams()
  return (
    <AddressPage
      path={`/alert-addresses/unsubscribe/${token}`}
      title="Unsubscribe"
      text="You will receive no more alerts at this address."
      submitLabel="Unsubscribe"
      done={({ email, organization }) => `${organization} no longer sends alerts to ${email}.`}
    />
  )
}

type Props = { path: string; title: string; text: string; submitLabel: string; done: (address: Address) => string }

/** It needs a click, because mail programs open links by themselves. */
function AddressPage({ path, title, text, submitLabel, done }: Props) {
  const [address, setAddress] = useState<Address>()
  const { isBusy, problem, onSubmit } = useSubmit(async () => setAddress(await api.post<Address>(path, {})))
  return (
    <Card title={title}>
      {address ? (
        <p role="status" className="text-sm text-soft">
          {done(address)}
        </p>
      ) : (
        <form onSubmit={onSubmit} className="flex flex-col gap-4">
          <p className="text-sm text-soft">{text}</p>
          {problem !== undefined && <ProblemNote problem={problem} />}
          <Button type="submit" variant="primary" isBusy={isBusy}>
            {submitLabel}
          </Button>
        </form>
      )}
    </Card>
  )
}
