import { useQuery } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Snippet } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { findInvitationLink } from './invitation-link.ts'
import { mailsQuery } from './queries.ts'

/** The link of an invitation, for servers that send no email. */
export function ShareInvitation({ email, onClose }: { email: string; onClose: () => void }) {
  const { data, error } = useQuery({ ...mailsQuery, staleTime: 0 })
  const link = data && findInvitationLink(email, data.data)
  return (
    <Dialog
      isOpen
      isPersistent
      onClose={onClose}
      title="Share the link"
      description="This server does not send email."
      footer={
        <Button variant="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p className="mb-3 text-sm text-soft">
        Send this link to <span className="font-medium break-all text-ink">{email}</span> only. It works once and
        expires in seven days.
      </p>
      {error ? (
        <ProblemNote problem={error} />
      ) : !data ? (
        <Skeleton lines={1} />
      ) : link ? (
        <Snippet text={link} label="Copy link" />
      ) : (
        <p className="text-sm text-warn">The link is no longer available. Resend the invitation to get a new one.</p>
      )}
    </Dialog>
  )
}
