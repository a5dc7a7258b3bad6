import { useQuery } from '@tanstack/react-query'
import { CircleAlert, CirclePause, PauseCircle, Unlink } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import { plural } from '#contract/wording.ts'
import { cx } from '../ui/class-names.ts'
import { TONE_WASH, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { capitalize } from './attempt.tsx'
import { lastDeliveredQuery, MAX_COUNTED, queuedQuery } from './queries.ts'
import { webhookHealth } from './status.tsx'

/** What is wrong with a webhook, what happens next, and what to do. Nothing for a healthy one. */
export function Health({ webhook }: { webhook: Webhook }) {
  switch (webhookHealth(webhook)) {
    case 'paused':
      return <Paused webhook={webhook} />
    case 'failing':
      return <Failing webhook={webhook} />
    case 'disabled':
      return <Disabled webhook={webhook} />
    case 'active':
      return webhook.groups.length === 0 && !webhook.all_groups ? (
        <Note tone="warn" icon={Unlink} title="No groups, so nothing is sent">
          <p>The webhook has no groups, so it receives no events. Edit it and select groups.</p>
        </Note>
      ) : null
  }
}

function Disabled({ webhook }: { webhook: Webhook }) {
  const { data: queued } = useQuery(queuedQuery(webhook.id))
  return (
    <Note tone="idle" icon={PauseCircle} title="Disabled, so nothing is sent">
      <p>
        {queued === undefined ? 'Requests are queued.' : queuedText(queued.waiting)} Enable the webhook to send them.
        Events that occur while it is disabled are not sent later. <Dropped count={queued?.dropped} />
      </p>
    </Note>
  )
}

function Paused({ webhook }: { webhook: Webhook }) {
  const { data: queued } = useQuery(queuedQuery(webhook.id))
  return (
    <Note tone="bad" icon={CirclePause} title="Paused: requests are queued">
      <p>
        <Reason error={webhook.last_error} /> <LastDelivered webhook={webhook.id} />
      </p>
      <dl className="mt-1 grid gap-x-4 gap-y-1 sm:grid-cols-[auto_1fr]">
        <dt className="font-medium text-ink">What you can do</dt>
        <dd>Fix your endpoint, then send a test. The first 2xx response resumes the webhook.</dd>
        <dt className="font-medium text-ink">Until then</dt>
        <dd>
          {queued?.waiting === 0
            ? 'No request is queued yet. Requests for new events are queued.'
            : queued === undefined
              ? 'Requests are queued.'
              : queuedText(queued.waiting)}{' '}
          Zonewatch retries the oldest once an hour. When it is delivered, the others follow, oldest first.{' '}
          <Dropped count={queued?.dropped} />
        </dd>
      </dl>
    </Note>
  )
}

function queuedText(count: number): string {
  if (count === 0) return 'No request is queued.'
  if (count >= MAX_COUNTED) return `${count.toLocaleString('en')} or more requests are queued.`
  return plural(count, '1 request is queued.', (number) => `${number} requests are queued.`)
}

function Dropped({ count = 0 }: { count: number | undefined }) {
  if (count === 0) return null
  const text = plural(
    count,
    '1 request was dropped because it was too old or too many were queued.',
    (number) => `${number} requests were dropped because they were too old or too many.`,
  )
  return <span className="font-medium text-ink">{text}</span>
}

function Failing({ webhook }: { webhook: Webhook }) {
  return (
    <Note tone="warn" icon={CircleAlert} title="The last attempt failed">
      <p>
        <Reason error={webhook.last_error} /> <LastDelivered webhook={webhook.id} />
      </p>
      <p>
        Zonewatch retries each request up to nine times over two days. If the ninth retry fails, it pauses the webhook,
        notifies the owners and queues further requests.
      </p>
    </Note>
  )
}

const Reason = ({ error }: { error: string | null }) =>
  error === null ? null : <span className="text-ink">{capitalize(error)}.</span>

function LastDelivered({ webhook }: { webhook: string }) {
  const { data } = useQuery(lastDeliveredQuery(webhook))
  if (data === undefined) return null
  if (data?.delivered == null) return <>No request has been delivered yet.</>
  return (
    <>
      Last delivery: <Time at={data.delivered} />.
    </>
  )
}

function Note({
  tone,
  icon: Icon,
  title,
  children,
}: {
  tone: Tone
  icon: typeof CircleAlert
  title: string
  children: ReactNode
}) {
  return (
    <section className="mb-6 flex gap-3 rounded-lg border border-line bg-surface px-4 py-3.5" aria-label="Health">
      <span className={cx('grid size-7 shrink-0 place-items-center rounded-full', TONE_WASH[tone])}>
        <Icon className="size-4" strokeWidth={2.25} aria-hidden="true" />
      </span>
      <div className="flex min-w-0 flex-col gap-1.5 text-sm text-soft">
        <h2 className="leading-7 font-semibold text-ink">{title}</h2>
        {children}
      </div>
    </section>
  )
}
