import { Link } from '@tanstack/react-router'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Card } from './card.tsx'
import { useEnter } from './enter.ts'
import { useSubmit } from './form.ts'
import { PERSON_FIELDS, PersonFields } from './new-account-fields.tsx'

export function SignUpPage() {
  const enter = useEnter()
  const { isBusy, problem, onSubmit } = useSubmit(async (given) => {
    await api.post('/dashboard/api/sign-up', Object.fromEntries(given))
    await enter()
  })
  return (
    <Card title="Make an account" below={<Link to="/sign-in">Have one? Sign in</Link>}>
      <form onSubmit={onSubmit} className="flex flex-col gap-4">
        <Field
          label="Organization"
          hint="A company or a team; you become its owner."
          error={fieldError(problem, 'organization')}
        >
          <Input name="organization" autoComplete="organization" required autoFocus maxLength={250} />
        </Field>
        <PersonFields problem={problem} />
        {problem !== undefined && <ProblemNote problem={problem} fields={PERSON_FIELDS} />}
        <Button type="submit" look="primary" isBusy={isBusy}>
          Make the account
        </Button>
      </form>
    </Card>
  )
}
