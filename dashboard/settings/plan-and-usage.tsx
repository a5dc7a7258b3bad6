import { useQuery } from '@tanstack/react-query'
import type { Plan, Subscription } from '#contract/subscription.ts'
import { useSession } from '../session.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { BillingPortal } from './billing-portal.tsx'
import { Invoices } from './invoices.tsx'
import { Plans } from './plans.tsx'
import { plansQuery, subscriptionQuery } from './queries.ts'
import { Usage } from './usage.tsx'

const STATUSES: Record<Subscription['status'], { word: string; tone: Tone }> = {
  active: { word: 'Active', tone: 'good' },
  trialing: { word: 'Trial', tone: 'good' },
  past_due: { word: 'Payment failed', tone: 'bad' },
  canceled: { word: 'Ended', tone: 'idle' },
}

export function PlanAndUsage() {
  const { me } = useSession()
  const { data: subscription, error, refetch } = useQuery(subscriptionQuery)
  const { data: plans } = useQuery(plansQuery)
  if (!subscription) {
    return (
      <Section>
        {error ? <ProblemPage problem={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />}
      </Section>
    )
  }
  const all = plans?.data ?? []
  return (
    <div className="flex flex-col gap-6">
      <Section
        title="Usage"
        hint={<PlanLine subscription={subscription} plan={all.find(({ id }) => id === subscription.plan)} />}
        actions={me.server.takes_payments && subscription.current_period_end && <BillingPortal />}
      >
        <Usage subscription={subscription} />
      </Section>
      {me.server.takes_payments && all.length > 1 && <Plans plans={all} subscription={subscription} />}
      {me.server.takes_payments && <Invoices />}
    </div>
  )
}

/** Which plan, how it stands, and until when. */
function PlanLine({ subscription, plan }: { subscription: Subscription; plan: Plan | undefined }) {
  const { status, current_period_end, cancel_at } = subscription
  const { word, tone } = STATUSES[status]
  const isPlain = status === 'active' && current_period_end === null
  return (
    <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1">
      <span>On the plan {plan?.name ?? subscription.plan}</span>
      {!isPlain && <Badge tone={tone} label={word} />}
      {cancel_at ? (
        <span>
          ends <Time at={cancel_at} isExact />
        </span>
      ) : (
        current_period_end && (
          <span>
            renews <Time at={current_period_end} isExact />
          </span>
        )
      )}
    </span>
  )
}
