import { Field, Input } from '../ui/field.tsx'
import { fieldError } from '../ui/problem.tsx'

/** Name, email and password. A given `email` is read-only. */
export function AccountFields({ problem, email }: { problem: unknown; email?: string }) {
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

export const ACCOUNT_FIELDS = ['organization', 'name', 'email', 'password']
