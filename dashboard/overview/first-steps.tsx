import { useNavigate } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import type { FormEvent, ReactNode } from 'react'
import type { Overview } from '#contract/dashboard.ts'
import { useSession } from '../session.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Field, Input } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'

/** The first steps of a new organization. */
export function FirstSteps({ has }: { has: Overview['has'] }) {
  const { can, me } = useSession()
  const isNotified = has.webhooks || has.alerts
  return (
    <Section title="Get started" hint="Three steps to your first alert." isFlush>
      <ol className="grid divide-line max-md:divide-y md:grid-cols-[1.3fr_1fr_1fr] md:divide-x">
        <Step
          number={1}
          isDone={has.monitors}
          title="Monitor a record"
          action={
            can('write') && (
              <>
                <FirstName />
                <ButtonLink to="/monitors/import" size="sm" variant="quiet" className="-ml-2.5">
                  Import monitors
                </ButtonLink>
              </>
            )
          }
        >
          Enter a name, look up its live records and choose the ones to monitor.
        </Step>
        <Step
          number={2}
          isDone={isNotified}
          keepsAction={!has.arrived}
          title="Choose who is notified"
          action={
            can('write') && (
              <>
                {can('manage') && (
                  <ButtonLink
                    to="/alerts"
                    search={{ tab: 'channels', open: 'new' }}
                    size="sm"
                    variant={has.monitors && !isNotified ? 'primary' : 'plain'}
                  >
                    Add a channel
                  </ButtonLink>
                )}
                <ButtonLink to="/webhooks" search={{ open: 'new' }} size="sm">
                  Connect a webhook
                </ButtonLink>
              </>
            )
          }
        >
          {me.server.sends_mail
            ? 'Owners receive an email when a monitor fails for 10 minutes. Add a chat or a pager for people, or a webhook for programs.'
            : 'This server sends no email until SMTP_URL and MAIL_FROM are set. Add a chat or a pager for people, or a webhook for programs.'}
        </Step>
        <Step
          number={3}
          isDone={has.arrived}
          title="Receive a test"
          action={
            can('manage') &&
            has.alerts && (
              <ButtonLink
                to="/alerts"
                search={{ tab: 'channels' }}
                size="sm"
                variant={has.monitors ? 'primary' : 'plain'}
              >
                Send a test
              </ButtonLink>
            )
          }
        >
          {isNotified
            ? 'Send a test to a channel or a webhook. This list ends when the first test or alert has arrived.'
            : 'When somebody is notified, send a test. This list ends when it has arrived.'}
        </Step>
      </ol>
      {!can('write') && (
        <p className="border-t border-line px-4 py-3 text-xs text-faint">
          Your role is read-only. A member of your organization completes these steps; you see the results.
        </p>
      )}
    </Section>
  )
}

function FirstName() {
  const navigate = useNavigate()
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name')).trim()
    void navigate({ to: '/monitors/new', search: name ? { name } : {} })
  }
  return (
    <form onSubmit={submit} className="flex w-full max-w-sm gap-2">
      <Field label={<span className="sr-only">Name or address</span>} className="-mt-1.5 min-w-0 flex-1">
        <Input isCode name="name" placeholder="www.example.com" maxLength={512} />
      </Field>
      <Button type="submit" variant="primary">
        Look up
      </Button>
    </form>
  )
}

type StepProps = {
  number: number
  isDone: boolean
  /** The action remains when the step is done. */
  keepsAction?: boolean
  title: string
  action: ReactNode
  children: ReactNode
}

function Step({ number, isDone, keepsAction = false, title, action, children }: StepProps) {
  return (
    <li className="flex gap-3 p-4">
      <span
        className={cx(
          'grid size-6 shrink-0 place-items-center rounded-full text-xs font-semibold tabular-nums',
          isDone ? 'bg-good-wash text-good' : 'bg-sunken text-soft',
        )}
      >
        {isDone ? <Check className="size-3.5" strokeWidth={3} role="img" aria-label="Done" /> : number}
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-1">
        <h3 className={cx('pt-0.5 text-sm font-medium', isDone && 'text-soft')}>{title}</h3>
        <p className="text-sm text-faint">{children}</p>
        {(!isDone || keepsAction) && action && <div className="mt-2 flex flex-wrap gap-2">{action}</div>}
      </div>
    </li>
  )
}
