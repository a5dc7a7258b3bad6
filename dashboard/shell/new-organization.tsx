import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { Accepted } from '#contract/account.ts'
import { api } from '../api.ts'
import { ME, switchOrganization } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** Creates an organization that the user owns, and switches to it. Only on servers with sign-up. */
export function NewOrganizationForm({ onDone }: { onDone?: () => void }) {
  const queries = useQueryClient()
  const router = useRouter()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const created = await api.post<Accepted>('/dashboard/api/organizations', { name: form.get('name') })
    await queries.refetchQueries({ queryKey: ME })
    switchOrganization(queries, created.organization_id)
    onDone?.()
    await router.navigate({ to: '/' })
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label="Name" hint="A company or a team. You become its owner." error={fieldError(problem, 'name')}>
        <Input name="name" autoComplete="organization" required maxLength={250} />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={['name']} />}
      <Button type="submit" variant="primary" isBusy={isBusy} className="self-end">
        Create organization
      </Button>
    </form>
  )
}

export function NewOrganizationDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title="New organization">
      <NewOrganizationForm onDone={onClose} />
    </Dialog>
  )
}
