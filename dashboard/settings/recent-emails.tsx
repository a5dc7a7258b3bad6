import { Collapsible } from '@base-ui/react/collapsible'
import { useQuery } from '@tanstack/react-query'
import { Archive, ChevronRight, CircleCheck, Clock, type LucideIcon, Mail, OctagonX } from 'lucide-react'
import type { Mails } from '#contract/account.ts'
import { useSession } from '../session.tsx'
import { mailsQuery } from '../team/queries.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'

type Notice = Mails['data'][number]

const STATES: Record<Notice['status'], { label: string; tone: Tone; icon: LucideIcon }> = {
  waiting: { label: 'Pending', tone: 'warn', icon: Clock },
  sent: { label: 'Sent', tone: 'good', icon: CircleCheck },
  kept: { label: 'Not sent', tone: 'idle', icon: Archive },
  failed: { label: 'Failed', tone: 'bad', icon: OctagonX },
}

export function RecentEmails() {
  const { me } = useSession()
  const { data, error, refetch } = useQuery(mailsQuery)
  return (
    <>
      <p className="mb-4 max-w-2xl text-sm text-faint">
        {me.server.sends_mail
          ? 'The most recent emails of this organization.'
          : 'This server has no mail server configured, so emails are stored here and not sent. Forward them yourself, or ask the operator to set SMTP_URL.'}
      </p>
      <Section isFlush>
        {error && !data ? (
          <ProblemPage problem={error} onRetry={() => void refetch()} />
        ) : !data ? (
          <Skeleton lines={4} className="p-4" />
        ) : data.data.length === 0 ? (
          <EmptyState icon={Mail} title="No emails yet">
            <p>Invitations and webhook alerts appear here.</p>
          </EmptyState>
        ) : (
          <ul className="divide-y divide-line">
            {data.data.map((notice) => (
              <EmailRow key={notice.id} notice={notice} />
            ))}
          </ul>
        )}
      </Section>
    </>
  )
}

function EmailRow({ notice: { created, recipient, subject, text, status, error } }: { notice: Notice }) {
  const { label, tone, icon } = STATES[status]
  return (
    <Collapsible.Root render={<li />}>
      <Collapsible.Trigger className="group grid w-full grid-cols-[1rem_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-2.5 text-left text-sm hover:bg-sunken/60">
        <ChevronRight
          className="size-4 text-faint transition-transform duration-100 group-data-[panel-open]:rotate-90"
          aria-hidden="true"
        />
        <span className="min-w-0">
          <span className="block font-medium break-words">{subject}</span>
          <span className="block text-xs break-all text-faint">
            {recipient} · <Time at={created} />
          </span>
        </span>
        <Badge tone={tone} icon={icon} label={label} />
      </Collapsible.Trigger>
      <Collapsible.Panel className="px-4 pb-4 pl-11">
        {error && <p className="mb-2 text-sm text-bad">{error}</p>}
        <pre className="max-w-3xl rounded-md bg-sunken px-3 py-2.5 font-sans text-sm break-words whitespace-pre-wrap">
          {text}
        </pre>
      </Collapsible.Panel>
    </Collapsible.Root>
  )
}
