import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Invitation } from '#contract/agents.ts'
import { api } from '../api.ts'
import { type Role, useSession } from '../session.tsx'
import { FormDialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { RadioGroup } from '../ui/radio-group.tsx'
import { useToast } from '../ui/toast.tsx'
import { assignableRoles } from './roles.ts'
import { ShareInvitation } from './share-invitation.tsx'

/** Invites someone. Servers that send no email show the link instead. */
export function Invite({ onClose }: { onClose: () => void }) {
  const { me, organization } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<Role>('member')
  const invite = useMutation({
    mutationFn: () => api.post<Invitation>('/agents/invitations', { email: email.trim(), role }),
    onSuccess: (invitation) => {
      for (const key of ['agents', 'mails', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
      if (!me.server.sends_mail) return
      toast.done(`Invitation sent to ${invitation.email}.`)
      onClose()
    },
  })
  if (invite.data && !me.server.sends_mail) return <ShareInvitation email={invite.data.email} onClose={onClose} />
  return (
    <FormDialog
      onClose={onClose}
      title="Invite someone"
      description={`To ${organization.name}. The invitation expires in seven days.`}
      submitLabel="Invite"
      isBusy={invite.isPending}
      onSubmit={() => invite.mutate()}
    >
      <Field
        label="Email"
        hint={
          me.server.sends_mail
            ? 'The person accepts it by signing in or signing up with this address.'
            : 'This server does not send email. You get a link to share.'
        }
        error={fieldError(invite.error, 'email')}
      >
        <Input
          type="email"
          required
          autoFocus
          maxLength={254}
          placeholder="grace@example.com"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
      </Field>
      <RadioGroup label="Role" value={role} options={assignableRoles(organization.role)} onChange={setRole} />
      {invite.error && <ProblemNote problem={invite.error} fields={['email']} />}
    </FormDialog>
  )
}
