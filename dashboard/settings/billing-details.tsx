import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import type { Billing } from '#contract/organization.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Field, Input } from '../ui/field.tsx'
import { Bones, Section } from '../ui/page.tsx'
import { fieldError, ProblemNote, ProblemPage } from '../ui/problem.tsx'
import { useToast } from '../ui/toast.tsx'
import { OnlyReading } from './only-reading.tsx'
import { billingQuery } from './queries.ts'

type Name = keyof Billing
type Line = {
  name: Name
  label: string
  autoComplete: string
  isWide?: boolean
  hint?: string
  type?: string
  most?: number
}

const LINES: readonly Line[] = [
  { name: 'name', label: 'Name', autoComplete: 'organization', isWide: true, hint: 'A company or a person.' },
  { name: 'email', label: 'E-mail', autoComplete: 'email', isWide: true, type: 'email', hint: 'Invoices go here.' },
  { name: 'line1', label: 'Street and number', autoComplete: 'address-line1', isWide: true },
  { name: 'line2', label: 'More of the address', autoComplete: 'address-line2', isWide: true },
  { name: 'zipcode', label: 'Postal code', autoComplete: 'postal-code', most: 40 },
  { name: 'city', label: 'City', autoComplete: 'address-level2' },
  { name: 'state', label: 'State or region', autoComplete: 'address-level1' },
  { name: 'country', label: 'Country', autoComplete: 'country', most: 2, hint: 'Two letters, like DE.' },
  { name: 'vat', label: 'VAT number', autoComplete: 'off', most: 40 },
  { name: 'currency', label: 'Currency', autoComplete: 'off', most: 3, hint: 'Three letters, like EUR.' },
]

export function BillingDetails() {
  const { me } = useSession()
  const { data, error, refetch } = useQuery(billingQuery)
  return (
    <>
      <p className="mb-4 max-w-2xl text-sm text-faint">
        {me.server.takes_payments
          ? 'Who is billed, and where invoices go.'
          : 'This server takes no payments. What is written here is kept for you, and nothing is billed.'}
      </p>
      <Section className="max-w-2xl">
        {data ? (
          <Form key={JSON.stringify(data)} billing={data} />
        ) : error ? (
          <ProblemPage problem={error} onRetry={() => void refetch()} />
        ) : (
          <Bones lines={8} />
        )}
      </Section>
    </>
  )
}

function Form({ billing }: { billing: Billing }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [changed, setChanged] = useState<Partial<Billing>>({})
  const mayNot = !can('own')
  const save = useMutation({
    mutationFn: () => api.patch<Billing>('/organization/billing', changed),
    onSuccess: (saved) => {
      queries.setQueryData(billingQuery.queryKey, saved)
      toast.done('The billing details are saved.')
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    save.mutate()
  }
  const isChanged = Object.entries(changed).some(([name, value]) => value !== billing[name as Name])
  return (
    <form onSubmit={submit} className="flex flex-col gap-5">
      {mayNot && <OnlyReading who="Owners" />}
      <div className="grid gap-x-4 gap-y-5 sm:grid-cols-2">
        {LINES.map(({ name, label, autoComplete, isWide, hint, type, most }) => (
          <Field
            key={name}
            label={label}
            hint={hint}
            error={fieldError(save.error, name)}
            className={isWide ? 'sm:col-span-2' : undefined}
          >
            <Input
              type={type ?? 'text'}
              autoComplete={autoComplete}
              maxLength={most ?? 250}
              disabled={mayNot}
              value={(name in changed ? changed[name] : billing[name]) ?? ''}
              onChange={(event) => setChanged({ ...changed, [name]: event.target.value || null })}
            />
          </Field>
        ))}
      </div>
      {save.error && <ProblemNote problem={save.error} fields={LINES.map(({ name }) => name)} />}
      {!mayNot && (
        <div className="flex justify-end">
          <Button type="submit" look="primary" isBusy={save.isPending} disabled={!isChanged}>
            Save
          </Button>
        </div>
      )}
    </form>
  )
}
