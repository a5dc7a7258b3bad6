import { Collapsible } from '@base-ui/react/collapsible'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { ChevronRight, History, ListFilter, X } from 'lucide-react'
import { AUDIT_OBJECTS, type AuditEntry } from '#contract/audit-log.ts'
import { agentsQuery } from '../team/queries.ts'
import { Button } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Field } from '../ui/field.tsx'
import { Code, Fact, Facts, Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { type Option, Select, withCurrent } from '../ui/select.tsx'
import { type Column, DataTable, Pager, rowCell } from '../ui/table.tsx'
import { fullTime, Time } from '../ui/time.tsx'
import { auditSentence, changesOf, fieldLabel, OBJECT_LABELS, valueText } from './audit-sentence.ts'
import { type AuditSearch, auditLogQuery, keysQuery } from './queries.ts'

const route = getRouteApi('/signed-in/settings')

/** The audit log, for admins and owners. */
export function AuditLog() {
  const { tab: _, ...search } = route.useSearch()
  const { actor = '', object = '' } = search
  const navigate = route.useNavigate()
  const show = (next: AuditSearch) => void navigate({ search: { tab: 'audit-log', ...next }, resetScroll: false })
  const { data: page, error, isPlaceholderData, refetch } = useQuery(auditLogQuery(search))
  const isFiltered = actor !== '' || object !== ''
  const clear = (
    <Button variant="quiet" onClick={() => show({})}>
      <X /> Clear filters
    </Button>
  )
  return (
    <>
      <p className="mb-4 max-w-2xl text-sm text-faint">
        Every change by a user or an API key, and every sign-in, newest first. Entries are kept as long as events.
      </p>
      <search aria-label="Filters" className="mb-4 grid grid-cols-2 items-end gap-3 sm:flex sm:flex-wrap">
        <Field label="User or API key" className="sm:w-56">
          <Select value={actor} options={useActorOptions(actor)} onChange={(next) => show({ actor: next, object })} />
        </Field>
        <Field label="Object" className="sm:w-48">
          <Select value={object} options={objectOptions(object)} onChange={(next) => show({ actor, object: next })} />
        </Field>
        {isFiltered && clear}
      </search>
      <Section isFlush className="overflow-hidden">
        {error && !page ? (
          <ProblemPage problem={error} onRetry={() => void refetch()} />
        ) : !page ? (
          <Skeleton lines={6} className="p-4" />
        ) : page.data.length === 0 && isFiltered ? (
          <EmptyState icon={ListFilter} title="No matching entries" action={clear}>
            <p>No entries match these filters. Entries are kept as long as events.</p>
          </EmptyState>
        ) : page.data.length === 0 ? (
          <EmptyState icon={History} title="No changes yet">
            <p>
              When someone creates, changes or deletes a monitor, a webhook or a setting, the audit log shows who did
              it, when, and from which address.
            </p>
          </EmptyState>
        ) : (
          <ol className={cx('divide-y divide-line transition-opacity delay-200', isPlaceholderData && 'opacity-50')}>
            {page.data.map((entry) => (
              <Entry key={entry.id} entry={entry} onObject={(id) => show({ object: id })} />
            ))}
          </ol>
        )}
        <Pager
          page={page}
          onAfter={(cursor) => show({ actor, object, after: cursor })}
          onBefore={(cursor) => show({ actor, object, before: cursor })}
        />
      </Section>
    </>
  )
}

function Entry({ entry, onObject }: { entry: AuditEntry; onObject: (id: string) => void }) {
  const { actor, address, object, occurred } = entry
  return (
    <Collapsible.Root render={<li />}>
      <Collapsible.Trigger className="group grid w-full grid-cols-[1rem_minmax(0,1fr)] items-center gap-x-3 px-4 py-2.5 text-left text-sm hover:bg-sunken/60 sm:grid-cols-[1rem_minmax(0,1fr)_auto]">
        <ChevronRight
          className="size-4 text-faint transition-transform duration-100 group-data-[panel-open]:rotate-90"
          aria-hidden="true"
        />
        <span className="min-w-0 break-words">
          <span className="font-medium">{actor.label}</span> {auditSentence(entry)}
        </span>
        <span className="col-start-2 text-xs text-faint sm:col-start-auto sm:text-right">
          <Time at={occurred} />
          {address && <span className="block max-sm:inline max-sm:before:content-['_·_']">{address}</span>}
        </span>
      </Collapsible.Trigger>
      <Collapsible.Panel className="flex flex-col gap-4 px-4 pb-4 pl-11">
        <Changes entry={entry} />
        <Facts>
          <Fact name={ACTOR_LABELS[actor.type]}>
            {actor.label} <Code className="text-xs text-faint">{actor.id}</Code>
          </Fact>
          <Fact name="Action">
            <Code>{entry.action}</Code>
          </Fact>
          {object.id && (
            <Fact name="Object">
              <Code>{object.id}</Code>{' '}
              <Button size="sm" variant="quiet" onClick={() => onObject(object.id!)}>
                <ListFilter /> Only this object
              </Button>
            </Fact>
          )}
          {entry.object_ids.length > 0 && (
            <Fact name={`Objects (${entry.object_count})`}>
              <Code className="text-xs">{entry.object_ids.join(', ')}</Code>
              {entry.object_count > entry.object_ids.length && ' …'}
            </Fact>
          )}
          <Fact name="Time">{fullTime(occurred)}</Fact>
          <Fact name="Address">{address ?? 'None, on the server itself'}</Fact>
          {entry.request_id && (
            <Fact name="Request id">
              <Code>{entry.request_id}</Code>
            </Fact>
          )}
        </Facts>
      </Collapsible.Panel>
    </Collapsible.Root>
  )
}

const ACTOR_LABELS: Record<AuditEntry['actor']['type'], string> = {
  person: 'User',
  key: 'API key',
  operator: 'Operator',
  system: 'System',
}

function Changes({ entry }: { entry: AuditEntry }) {
  const changes = changesOf(entry)
  if (changes.length === 0) return null
  return (
    <div className="rounded-md border border-line">
      <DataTable
        label="Changed fields"
        columns={CHANGE_COLUMNS.filter(({ id }) => id === 'field' || entry[id as 'before' | 'after'])}
        rows={changes}
        rowId={({ field }) => field}
      />
    </div>
  )
}

const CHANGE_COLUMNS: Column<ReturnType<typeof changesOf>[number]>[] = [
  {
    id: 'field',
    header: 'Field',
    meta: { cellClassName: 'text-faint first-letter:uppercase' },
    cell: ({ row }) => fieldLabel(row.original.field),
  },
  {
    id: 'before',
    header: 'Before',
    meta: { cellClassName: 'wrap-anywhere' },
    cell: rowCell(({ field, from }) => valueText(field, from)),
  },
  {
    id: 'after',
    header: 'After',
    meta: { cellClassName: 'wrap-anywhere' },
    cell: rowCell(({ field, to }) => valueText(field, to)),
  },
]

/** Includes the actor of the URL even if it is not in the list. */
function useActorOptions(selected: string): Option<string>[] {
  const agents = useQuery(agentsQuery({})).data?.data ?? []
  const keys = useQuery(keysQuery).data ?? []
  const options = [
    ...agents.map(({ id, name, email }) => ({ value: id, label: name, hint: email })),
    ...keys.map(({ id, name }) => ({ value: id, label: name, hint: 'API key' })),
    { value: 'operator', label: 'Command line' },
  ]
  return [{ value: '', label: 'Everyone' }, ...withCurrent(options, selected)]
}

function objectOptions(selected: string): Option<string>[] {
  const types = AUDIT_OBJECTS.map((type) => ({ value: type as string, label: OBJECT_LABELS[type] }))
  return [{ value: '', label: 'Everything' }, ...withCurrent(types, selected)]
}
