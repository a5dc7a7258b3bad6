import { useQuery } from '@tanstack/react-query'
import { CircleAlert, CirclePause, PauseCircle, Unlink } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Webhook } from '#contract/webhooks.ts'
import { cx } from '../ui/class.ts'
import { TONE_WASH, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { firstUpper } from './attempt.tsx'
import { countQuery, lastDeliveredQuery, MOST_COUNTED } from './queries.ts'
import { healthOf } from './words.tsx'

/** What is wrong with a webhook, what happens next by itself, and what to do. Nothing where all is well. */
export function Health({ webhook }: { webhook: Webhook }) {
  switch (healthOf(webhook)) {
    case 'paused':
      return <Paused webhook={webhook} />
    case 'failing':
      return <Failing webhook={webhook} />
    case 'disabled':
      return (
        <Note tone="idle" icon={PauseCircle} title="Disabled: changes make no requests">
          <p>
            What waited when it was disabled is kept and not sent. Enable it to go on; changes that happen meanwhile are
            not told later.
          </p>
        </Note>
      )
    case 'active':
      return webhook.groups.length === 0 ? (
        <Note tone="warn" icon={Unlink} title="It hears of nothing">
          <p>It is linked to no group, so that no change is sent to it. Edit it and choose its groups.</p>
        </Note>
      ) : null
  }
}

function Paused({ webhook }: { webhook: Webhook }) {
  const { data: pending } = useQuery(countQuery(webhook.id, 'PENDING'))
  const { data: retrying } = useQuery(countQuery(webhook.id, 'RETRYING'))
  const kept = pending === undefined || retrying === undefined ? undefined : pending + retrying
  return (
    <Note tone="bad" icon={CirclePause} title="Paused: nothing is delivered to it now">
      <p>
        <Reason error={webhook.last_error} /> <LastDelivered webhook={webhook.id} />
      </p>
      <dl className="mt-1 grid gap-x-4 gap-y-1 sm:grid-cols-[auto_1fr]">
        <dt className="font-medium text-ink">What you can do</dt>
        <dd>Mend the receiver, then send a test: the first 2xx answer resumes the webhook at once.</dd>
        <dt className="font-medium text-ink">What happens meanwhile</dt>
        <dd>
          {kept === undefined ? 'Requests are kept' : keptText(kept)}. The oldest is tried once an hour; when it
          arrives, all are sent, oldest first.
        </dd>
      </dl>
    </Note>
  )
}

function keptText(kept: number): string {
  if (kept === 0) return 'Nothing waits yet, and new requests are kept, none is lost'
  const count = kept >= MOST_COUNTED ? `At least ${kept}` : kept
  return `${count} ${kept === 1 ? 'request is' : 'requests are'} kept, none is lost`
}

function Failing({ webhook }: { webhook: Webhook }) {
  return (
    <Note tone="warn" icon={CircleAlert} title="The last attempt failed">
      <p>
        <Reason error={webhook.last_error} /> <LastDelivered webhook={webhook.id} />
      </p>
      <p>
        Each request is tried again up to nine times, over two days. When the ninth retry fails, the webhook is paused
        and its owner told; requests are kept then, too.
      </p>
    </Note>
  )
}

const Reason = ({ error }: { error: string | null }) =>
  error === null ? null : <span className="text-ink">{firstUpper(error)}.</span>

/** Until when it was well. */
function LastDelivered({ webhook }: { webhook: string }) {
  const { data } = useQuery(lastDeliveredQuery(webhook))
  if (data === undefined) return null
  if (data?.delivered == null) return <>Nothing was ever delivered to it.</>
  return (
    <>
      The last delivery was <Time at={data.delivered} />.
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
