import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import type { Accepted } from '#contract/account.ts'
import { useSubmit } from '../account/form.ts'
import { api } from '../api.ts'
import { ME, switchOrganization } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'

/** Makes an organization that the person owns, and shows it. Only where the server lets people sign up. */
export function NewOrganization({ onDone }: { onDone?: () => void }) {
  const queries = useQueryClient()
  const router = useRouter()
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    const made = await api.post<Accepted>('/dashboard/api/organizations', { name: given.get('name') })
    await queries.refetchQueries({ queryKey: ME })
    switchOrganization(queries, made.organization_id)
    onDone?.()
    await router.navigate({ to: '/' })
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      <Field label="Name" hint="A company or a team. You become its owner." error={fieldError(problem, 'name')}>
        <Input name="name" autoComplete="organization" required maxLength={250} />
      </Field>
      {problem !== undefined && <ProblemNote problem={problem} fields={['name']} />}
      <Button type="submit" look="primary" isBusy={isBusy} className="self-end">
        Create organization
      </Button>
    </form>
  )
}

export function NewOrganizationDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title="New organization">
      <NewOrganization onDone={onClose} />
    </Dialog>
  )
}
