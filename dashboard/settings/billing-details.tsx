import type { FormEvent } from 'react'
import type { Billing, BillingChange } from '#contract/organization.ts'
import type { Versioned } from '../api.ts'
import { ConflictNote } from '../edit/conflict-note.tsx'
import { LoadResource } from '../edit/load-resource.tsx'
import type { Fields } from '../edit/rebase.ts'
import { useEdit } from '../edit/use-edit.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { ReadOnlyNote } from './read-only-note.tsx'

type Name = keyof Billing
type BillingField = {
  name: Name
  label: string
  autoComplete: string
  isWide?: boolean
  hint?: string
  type?: string
  maxLength?: number
}

const BILLING_FIELDS: readonly BillingField[] = [
  { name: 'name', label: 'Name', autoComplete: 'organization', isWide: true, hint: 'Company or person.' },
  { name: 'email', label: 'Email', autoComplete: 'email', isWide: true, type: 'email', hint: 'Receives the invoices.' },
  { name: 'line1', label: 'Address line 1', autoComplete: 'address-line1', isWide: true },
  { name: 'line2', label: 'Address line 2', autoComplete: 'address-line2', isWide: true },
  { name: 'zipcode', label: 'Postal code', autoComplete: 'postal-code', maxLength: 40 },
  { name: 'city', label: 'City', autoComplete: 'address-level2' },
  { name: 'state', label: 'State or region', autoComplete: 'address-level1' },
  { name: 'country', label: 'Country', autoComplete: 'country', maxLength: 2, hint: 'Two-letter code, such as DE.' },
  { name: 'vat', label: 'VAT number', autoComplete: 'off', maxLength: 40 },
  { name: 'currency', label: 'Currency', autoComplete: 'off', maxLength: 3, hint: 'Three-letter code, such as EUR.' },
]

export function BillingDetails() {
  const { me } = useSession()
  return (
    <>
      <p className="mb-4 max-w-2xl text-sm text-faint">
        {me.server.takes_payments
          ? 'Your billing address and where invoices are sent.'
          : 'This server does not process payments. The details are stored, and nothing is billed.'}
      </p>
      <Section className="max-w-2xl">
        <LoadResource<Billing> path="/organization/billing">{(opened) => <Form opened={opened} />}</LoadResource>
      </Section>
    </>
  )
}

const FIELDS = Object.fromEntries(
  BILLING_FIELDS.map(({ name, label }) => [name, { label, text: (value: string | null) => value ?? '' }]),
) as Fields<Billing, BillingChange>
const formOf = (billing: Billing): Billing => billing

function Form({ opened }: { opened: Versioned<Billing> }) {
  const { can } = useSession()
  const toast = useToast()
  const edit = useEdit(opened, { path: '/organization/billing', fields: FIELDS, formOf })
  const { form, problem } = edit
  const isReadOnly = !can('own')
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (await edit.save()) toast.done('Billing details saved.')
  }
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      {isReadOnly && <ReadOnlyNote who="owners" />}
      <ConflictNote {...edit} fields={FIELDS} />
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        {BILLING_FIELDS.map(({ name, label, autoComplete, isWide, hint, type, maxLength }) => (
          <Field
            key={name}
            label={label}
            hint={hint}
            error={fieldError(problem, name)}
            className={isWide ? 'sm:col-span-2' : undefined}
          >
            <Input
              type={type ?? 'text'}
              autoComplete={autoComplete}
              maxLength={maxLength ?? 250}
              disabled={isReadOnly}
              value={form[name] ?? ''}
              onChange={(event) => edit.set({ [name]: event.target.value || null })}
            />
          </Field>
        ))}
      </div>
      {problem !== undefined && <ProblemNote problem={problem} fields={BILLING_FIELDS.map(({ name }) => name)} />}
      {!isReadOnly && (
        <div className="flex justify-end">
          <Button type="submit" variant="primary" isBusy={edit.isBusy} disabled={!edit.isChanged}>
            Save
          </Button>
        </div>
      )}
    </form>
  )
}
