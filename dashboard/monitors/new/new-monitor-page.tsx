import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { Upload } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import type { Lookup } from '#contract/dashboard.ts'
import { api } from '../../api.ts'
import { useSession } from '../../session.tsx'
import { ButtonLink } from '../../ui/button.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { Page, Section, Skeleton } from '../../ui/page.tsx'
import { fieldError, ProblemNote } from '../../ui/problem.tsx'
import { Spinner } from '../../ui/spinner.tsx'
import { ReadOnlyNotice } from '../list/placeholders.tsx'
import { NewMonitorForm } from './form.tsx'

const DEBOUNCE_MS = 450

export function NewMonitorPage() {
  const { can } = useSession()
  return (
    <Page
      title="New monitor"
      help="reference/matching"
      lead="Look up a name and select the records to monitor."
      back={{ to: '/monitors', label: 'Monitors' }}
      actions={
        can('write') && (
          <ButtonLink to="/monitors/import">
            <Upload /> Import monitors
          </ButtonLink>
        )
      }
      isNarrow
    >
      {can('write') ? <NameLookup /> : <ReadOnlyNotice action="create monitors" />}
    </Page>
  )
}

/** The name is in the URL, so that a link can set it. */
function NameLookup() {
  const { name = '', group } = useSearch({ from: '/signed-in/monitors/new' })
  const navigate = useNavigate({ from: '/monitors/new' })
  const [text, setText] = useState(name)
  const { data, error, isFetching, refetch } = useLookup(name)
  const lastName = useRef(name)
  const lookUp = (next: string) => {
    lastName.current = next
    void navigate({ search: { name: next, ...(group ? { group } : {}) }, replace: true, resetScroll: false })
  }
  const input = text.trim()
  useEffect(() => {
    if (name === lastName.current) return
    // The URL changed from elsewhere.
    lastName.current = name
    setText(name)
  }, [name])
  useEffect(() => {
    if (input === name || !/[.:]/.test(input)) return
    const timer = setTimeout(() => lookUp(input), DEBOUNCE_MS)
    return () => clearTimeout(timer)
  })
  const nameError = input === name ? fieldError(error, 'name') : undefined
  // The result is for the name in the field.
  const isCurrent = data !== undefined && error === null && name !== '' && input === name
  return (
    <div className="flex flex-col gap-4">
      <Section>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (input !== name) lookUp(input)
            else if (input !== '') void refetch()
          }}
        >
          <Field
            label="Name or address"
            hint="A domain name, a URL or an IP address (for its PTR record)."
            error={nameError}
          >
            <span className="relative block">
              <Input
                isCode
                autoFocus
                maxLength={512}
                placeholder="www.example.com"
                value={text}
                onChange={(event) => setText(event.target.value)}
                className="h-11! pr-10 text-base!"
              />
              <span className="absolute inset-y-0 right-3 grid place-items-center text-faint">
                {isFetching && <Spinner label="Looking up" />}
              </span>
            </span>
          </Field>
        </form>
      </Section>
      {error !== null && nameError === undefined && <ProblemNote problem={error} />}
      {input === '' && <Examples onSelect={(example) => setText(example)} />}
      {!isCurrent && isFetching && input !== '' && (
        <Section>
          <Skeleton lines={5} />
        </Section>
      )}
      {isCurrent && (
        <>
          <p role="status" className="sr-only">
            {summary(data)}
          </p>
          <NewMonitorForm
            key={data.full_domain}
            lookup={data}
            group={group}
            lookupAgain={{ isBusy: isFetching, run: () => void refetch() }}
          />
        </>
      )}
    </div>
  )
}

function useLookup(name: string) {
  return useQuery({
    queryKey: ['lookup', name],
    queryFn: () => api.post<Lookup>('/dashboard/api/lookup', { name }),
    enabled: name !== '',
    staleTime: 30_000,
    refetchOnWindowFocus: false,
  })
}

function summary({ full_domain, found }: Lookup): string {
  const types = found.filter(({ values }) => values.length > 0).map(({ record_type }) => record_type)
  return types.length === 0 ? `No records found for ${full_domain}.` : `Found for ${full_domain}: ${types.join(', ')}.`
}

const EXAMPLES: readonly [name: string, what: string][] = [
  ['www.example.com', 'website'],
  ['example.com', 'mail, SPF, name servers, certificates'],
  ['_dmarc.example.com', 'mail policy'],
  ['192.0.2.10', 'reverse DNS'],
]

function Examples({ onSelect }: { onSelect: (name: string) => void }) {
  return (
    <div className="px-4 text-sm text-soft">
      <h2 className="mb-2 font-medium text-ink">Examples</h2>
      <ul className="flex flex-col gap-1">
        {EXAMPLES.map(([name, what]) => (
          <li key={name}>
            <button
              type="button"
              onClick={() => onSelect(name)}
              className="rounded-sm py-0.5 font-mono text-accent-ink hover:underline"
            >
              {name}
            </button>{' '}
            <span className="text-faint">{what}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
