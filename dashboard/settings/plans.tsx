import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { PaymentPage, Plan, Subscription } from '#contract/subscription.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Section } from '../ui/page.tsx'
import { useToast } from '../ui/toast.tsx'
import { limitsText } from './limits-text.ts'
import { formatMoney } from './money.ts'

type Price = Plan['prices'][number]
type Choice = { plan: Plan; price: Price | undefined }

/** The available plans. The user pays at the payment provider, which then reports the new plan. */
export function Plans({ plans, subscription }: { plans: readonly Plan[]; subscription: Subscription }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [choice, setChoice] = useState<Choice>()
  const change = async ({ plan, price }: Choice) => {
    const body = { plan: plan.id, ...(price ? { interval: price.interval } : {}) }
    const answer = await api.put<Subscription | PaymentPage>('/organization/subscription', body)
    if ('url' in answer) {
      location.assign(answer.url)
      return
    }
    void queries.invalidateQueries({ queryKey: ['organization'] })
    toast.done('Plan saved.')
  }
  return (
    <Section
      title="Plans"
      hint={
        can('own')
          ? 'Pay for and change your plan on the payment provider’s website.'
          : 'Only owners can change the plan.'
      }
      isFlush
    >
      <ul className="divide-y divide-line">
        {plans.map((plan) => (
          <li key={plan.id} className="grid items-center gap-x-6 gap-y-2 px-4 py-3.5 md:grid-cols-[16rem_1fr_auto]">
            <div>
              <p className="font-medium">{plan.name}</p>
              <p className="text-sm text-soft tabular-nums">
                {plan.prices.length === 0 ? 'Free' : plan.prices.map(priceText).join(' or ')}
              </p>
            </div>
            <p className="text-xs text-faint">{limitsText(plan.limits)}</p>
            <PlanButtons plan={plan} subscription={subscription} onChoose={setChoice} />
          </li>
        ))}
      </ul>
      <Confirm
        isOpen={choice !== undefined}
        onClose={() => setChoice(undefined)}
        title={choice ? `${choice.plan.id === subscription.plan ? 'Keep' : 'Change to'} ${choice.plan.name}?` : ''}
        confirmLabel={
          choice?.plan.id === subscription.plan ? 'Keep plan' : choice?.price ? 'Go to payment' : 'Change plan'
        }
        onConfirm={async () => choice && change(choice)}
      >
        {choice && changeNote(choice, subscription)}
      </Confirm>
    </Section>
  )
}

function PlanButtons({
  plan,
  subscription,
  onChoose,
}: {
  plan: Plan
  subscription: Subscription
  onChoose: (choice: Choice) => void
}) {
  const { can } = useSession()
  const isCurrent = plan.id === subscription.plan
  if (isCurrent && subscription.cancel_at === null) return <p className="text-sm text-faint">Your plan</p>
  if (!can('own')) return null
  if (isCurrent) {
    return (
      <Button size="sm" onClick={() => onChoose({ plan, price: undefined })}>
        Keep this plan
      </Button>
    )
  }
  const prices = plan.prices.length === 0 ? [undefined] : plan.prices
  return (
    <div className="flex flex-wrap gap-2">
      {prices.map((price) => (
        <Button
          key={price ? `${price.interval} ${price.currency}` : 'free'}
          size="sm"
          onClick={() => onChoose({ plan, price })}
        >
          {price ? `Choose, billed per ${price.interval}` : 'Choose'}
        </Button>
      ))}
    </div>
  )
}

/** What the change of the plan means. */
function changeNote({ plan, price }: Choice, subscription: Subscription): string {
  if (plan.id === subscription.plan) return 'The plan no longer ends with the current period.'
  if (price) return `You pay ${priceText(price)} on the payment provider's page, where you can still cancel.`
  return 'Your paid plan stays active until the end of its period. After that, everything above the limits of the free plan is kept, but you cannot add more.'
}

const priceText = ({ amount, currency, interval }: Price) => `${formatMoney(amount, currency)} per ${interval}`
