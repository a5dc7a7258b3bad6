import { useQuery } from '@tanstack/react-query'
import { Button } from '../ui/button.tsx'
import { Snippet } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Bones } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { linkFor } from './invitation-link.ts'
import { mailsQuery } from './queries.ts'

/** The link of an invitation, where the server does not send it. */
export function PassOn({ email, onClose }: { email: string; onClose: () => void }) {
  const { data, error } = useQuery({ ...mailsQuery, staleTime: 0 })
  const link = data && linkFor(email, data.data)
  return (
    <Dialog
      isOpen
      isKept
      onClose={onClose}
      title="Pass the link on"
      description="This server sends no mail."
      footer={
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      }
    >
      <p className="mb-3 text-sm text-soft">
        Give this link to <span className="font-medium break-all text-ink">{email}</span>, and to nobody else. It works
        once, for seven days.
      </p>
      {error ? (
        <ProblemNote problem={error} />
      ) : !data ? (
        <Bones lines={1} />
      ) : link ? (
        <Snippet text={link} label="Copy link" />
      ) : (
        <p className="text-sm text-warn">
          The link is not among the newest mails any more. Resend the invitation for a new one.
        </p>
      )}
    </Dialog>
  )
}
