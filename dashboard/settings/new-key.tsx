import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { MadeApiKey, NewApiKey } from '#contract/account.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Snippet } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Input } from '../ui/field.tsx'
import { fieldError, ProblemNote } from '../ui/problem.tsx'
import { Select } from '../ui/select.tsx'
import { curlOf, EXPIRIES, expiryOf, KEY_ROLES, type KeyRole } from './keys.ts'

/** Makes an API key and shows it, once. */
export function NewKey({ onClose }: { onClose: () => void }) {
  const { can } = useSession()
  const queries = useQueryClient()
  const formId = useId()
  const [name, setName] = useState('')
  const [role, setRole] = useState<KeyRole>('write')
  const [days, setDays] = useState('')
  const make = useMutation({
    mutationFn: () => {
      const body: NewApiKey = { name: name.trim(), role, expires: expiryOf(days, Date.now()) }
      return api.post<MadeApiKey>('/dashboard/api/keys', body)
    },
    onSuccess: () => {
      for (const key of ['keys', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
    },
  })
  if (make.data) return <KeyOnce made={make.data} onDone={onClose} />
  const submit = (event: FormEvent) => {
    event.preventDefault()
    make.mutate()
  }
  const roles = (Object.keys(KEY_ROLES) as KeyRole[]).filter((each) => each !== 'admin' || can('own'))
  return (
    <Dialog
      isOpen
      isKept={name !== ''}
      onClose={onClose}
      title="New API key"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" form={formId} isBusy={make.isPending}>
            Create key
          </Button>
        </>
      }
    >
      <form id={formId} onSubmit={submit} className="flex flex-col gap-5">
        <Field
          label="Name"
          hint="The program that uses the key, for example CI."
          error={fieldError(make.error, 'name')}
        >
          <Input
            required
            autoFocus
            maxLength={250}
            placeholder="deployment"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </Field>
        <Field label="Role" hint={KEY_ROLES[role].hint} error={fieldError(make.error, 'role')}>
          <Select value={role} options={roles.map((value) => ({ value, ...KEY_ROLES[value] }))} onChange={setRole} />
        </Field>
        <Field label="Expires" error={fieldError(make.error, 'expires')}>
          <Select value={days} options={EXPIRIES} onChange={setDays} />
        </Field>
        {make.error && <ProblemNote problem={make.error} fields={['name', 'role', 'expires']} />}
      </form>
    </Dialog>
  )
}

function KeyOnce({ made, onDone }: { made: MadeApiKey; onDone: () => void }) {
  const { me } = useSession()
  return (
    <Dialog
      isOpen
      isWide
      isKept
      onClose={onDone}
      title={`API key ${made.name} created`}
      description="Copy the key now. It is not shown again."
      footer={
        <Button look="primary" onClick={onDone}>
          Done
        </Button>
      }
    >
      <div className="flex flex-col gap-5">
        <div>
          <h3 className="mb-1.5 text-sm font-medium">API key</h3>
          <Snippet text={made.key} label="Copy key" />
        </div>
        <div>
          <h3 className="mb-1.5 text-sm font-medium">Try it</h3>
          <Snippet text={curlOf(made.key, me.server.base_url)} label="Copy command" />
          <p className="mt-1.5 text-xs text-faint">
            See the{' '}
            <a
              href="/docs/api"
              target="_blank"
              rel="noreferrer"
              className="rounded-sm text-accent-ink underline underline-offset-2"
            >
              API reference
            </a>
            .
          </p>
        </div>
      </div>
    </Dialog>
  )
}
