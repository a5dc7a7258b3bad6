import { X } from 'lucide-react'
import { Button } from '../ui/button.tsx'
import { Section } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Spinner } from '../ui/spinner.tsx'
import { AttemptDetails } from './attempt.tsx'
import { useAwaitedAttempt } from './use-awaited-attempt.ts'
import type { Test } from './use-test.ts'

/** The result of a test, as soon as it is known. */
export function TestResult({
  webhook,
  test,
  onOpen,
}: {
  webhook: string
  test: Test
  onOpen: (request: string) => void
}) {
  return (
    <Section
      title="Test"
      hint="A sample change of an A record, signed and sent once."
      className="mb-6"
      actions={
        <>
          {test.request && (
            <Button size="sm" variant="quiet" onClick={() => test.request && onOpen(test.request)}>
              View request
            </Button>
          )}
          <Button size="sm" variant="quiet" isSquare aria-label="Dismiss test" onClick={test.dismiss}>
            <X />
          </Button>
        </>
      }
    >
      <div aria-live="polite">
        {test.problem !== undefined ? (
          <ProblemNote problem={test.problem} />
        ) : (
          test.request && <Outcome key={test.request} webhook={webhook} request={test.request} />
        )}
      </div>
    </Section>
  )
}

function Outcome({ webhook, request }: { webhook: string; request: string }) {
  const { attempt, error, isOverdue } = useAwaitedAttempt(webhook, request, 0)
  if (attempt) return <AttemptDetails attempt={attempt} />
  if (error) return <ProblemNote problem={error} />
  if (isOverdue)
    return (
      <p className="text-sm text-soft">
        The test was not sent within a minute. The server may be busy. The request stays queued and is sent as soon as
        possible.
      </p>
    )
  return (
    <p className="flex items-center gap-2 text-sm text-soft">
      <Spinner /> Sending. Your endpoint has 30 seconds to respond.
    </p>
  )
}
