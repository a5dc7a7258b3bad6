import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'

/** What makes a person. `email`: given already, and not to be changed here. */
export function PersonFields({ problem, email }: { problem: unknown; email?: string }) {
  return (
    <>
      <Field label="Your name" error={fieldError(problem, 'name')}>
        <Input name="name" autoComplete="name" required maxLength={250} />
      </Field>
      <Field label="Email" error={fieldError(problem, 'email')}>
        <Input
          name="email"
          type="email"
          autoComplete="username"
          required
          {...(email ? { value: email, readOnly: true } : {})}
        />
      </Field>
      <Field label="Password" hint="At least 8 characters." error={fieldError(problem, 'password')}>
        <Input name="password" type="password" autoComplete="new-password" minLength={8} maxLength={128} required />
      </Field>
    </>
  )
}

export const PERSON_FIELDS = ['organization', 'name', 'email', 'password']
