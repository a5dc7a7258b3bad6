import { Meter } from '@base-ui/react/meter'
import { useMutation, useQuery } from '@tanstack/react-query'
import { ExternalLink } from 'lucide-react'
import type { PaymentPage, Plan, Subscription } from '#contract/subscription.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Fact, Facts, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { Invoices } from './invoices.tsx'
import { Plans } from './plans.tsx'
import { plansQuery, subscriptionQuery } from './queries.ts'

const STATUS_DISPLAY: Record<Subscription['status'], { label: string; tone: Tone }> = {
  active: { label: 'Active', tone: 'good' },
  trialing: { label: 'Trial', tone: 'good' },
  past_due: { label: 'Payment failed', tone: 'bad' },
  canceled: { label: 'Ended', tone: 'idle' },
}

export function PlanAndUsage() {
  const { me, can } = useSession()
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
      {me.server.takes_payments && can('manage') && <Invoices />}
    </div>
  )
}

/** The plan, its status and its end or renewal. */
function PlanLine({ subscription, plan }: { subscription: Subscription; plan: Plan | undefined }) {
  const { status, current_period_end, cancel_at } = subscription
  const { label, tone } = STATUS_DISPLAY[status]
  const isUnlimited = status === 'active' && current_period_end === null
  return (
    <span className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1">
      <span>On the plan {plan?.name ?? subscription.plan}</span>
      {!isUnlimited && <Badge tone={tone} label={label} />}
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

/** Opens the pages of the payment provider. */
function BillingPortal() {
  const { can } = useSession()
  const toast = useToast()
  const open = useMutation({
    mutationFn: () => api.post<PaymentPage>('/organization/subscription/portal'),
    onSuccess: ({ url }) => location.assign(url),
    onError: toast.failed,
  })
  if (!can('own')) return null
  return (
    <Button size="sm" isBusy={open.isPending || open.isSuccess} onClick={() => open.mutate()}>
      Manage payment methods <ExternalLink />
    </Button>
  )
}

const QUOTAS = [
  ['monitors', 'Monitors'],
  ['webhooks', 'Webhooks'],
  ['agents', 'Team members, including pending invitations'],
  ['api_keys', 'Active API keys'],
] as const

/** The used part of each limit. */
function Usage({ subscription: { limits, usage } }: { subscription: Subscription }) {
  return (
    <div className="flex flex-col gap-6">
      <div className="grid gap-x-10 gap-y-4 sm:grid-cols-2">
        {QUOTAS.map(([name, label]) => (
          <UsageMeter key={name} label={label} used={usage[name]} limit={limits[name]} />
        ))}
      </div>
      <Facts>
        <Fact name="Shortest interval">
          <span className="tabular-nums">
            {usage.min_frequency === null ? 'No monitors yet' : `${usage.min_frequency} minutes in use`}
            {limits.min_frequency !== null && `, ${limits.min_frequency} allowed`}
          </span>
        </Fact>
        <Fact name="Event retention">
          <span className="tabular-nums">
            {usage.event_retention_days === null ? 'forever' : `for ${usage.event_retention_days} days`}
            {limits.event_retention_days !== null && `, ${limits.event_retention_days} allowed`}
          </span>
        </Fact>
      </Facts>
    </div>
  )
}

function UsageMeter({ label, used, limit }: { label: string; used: number; limit: number | null }) {
  const text = limit === null ? `${used.toLocaleString()}` : `${used.toLocaleString()} of ${limit.toLocaleString()}`
  if (limit === null) {
    return (
      <div className="flex items-baseline justify-between gap-4 border-b border-line pb-2 text-sm">
        <span className="text-soft">{label}</span>
        <span className="tabular-nums">
          <span className="font-medium">{text}</span> <span className="text-xs text-faint">no limit</span>
        </span>
      </div>
    )
  }
  const isFull = used >= limit
  return (
    <Meter.Root value={Math.min(used, limit)} max={Math.max(limit, 1)} getAriaValueText={() => text}>
      <div className="mb-1.5 flex items-baseline justify-between gap-4 text-sm">
        <Meter.Label className="text-soft">{label}</Meter.Label>
        <span className="tabular-nums">
          <span className="font-medium">{text}</span>
          {isFull && <span className="text-xs text-warn"> {used > limit ? 'over the limit' : 'full'}</span>}
        </span>
      </div>
      <Meter.Track className="h-1.5 overflow-hidden rounded-full bg-sunken">
        <Meter.Indicator className={cx('h-full rounded-full', isFull ? 'bg-warn' : 'bg-accent')} />
      </Meter.Track>
    </Meter.Root>
  )
}
