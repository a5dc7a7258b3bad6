import { useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { ApiKey } from '#contract/api-keys.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Checkbox } from '../ui/field.tsx'
import { Section } from '../ui/page.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { KeyMenu } from './key-menu.tsx'
import { KEY_ROLES, type KeyCondition, keyCondition, limitsSentence } from './keys.ts'
import { keysQuery } from './queries.ts'

const NewKey = lazy(async () => ({ default: (await import('./new-key.tsx')).NewKey }))

export function Keys() {
  const { data, ...list } = useQuery(keysQuery)
  const { can } = useSession()
  const [isNew, setNew] = useState(false)
  const [showsEnded, setShowsEnded] = useState(false)
  const keys = (data ?? []).map((key) => ({ key, condition: keyCondition(key, Date.now()) }))
  const live = keys.filter(({ condition }) => condition === 'live')
  const newButton = (
    <Button variant="primary" onClick={() => setNew(true)}>
      <Plus /> New key
    </Button>
  )
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <p className="max-w-xl text-sm text-faint">
          Keys authenticate programs that call the API for this organization. A key is shown once, when you create it.
        </p>
        {live.length > 0 && newButton}
      </div>
      <Section isFlush>
        <PagedTable
          label="API keys"
          columns={columnsWith((role) => can(role === 'admin' ? 'own' : 'manage'))}
          list={{ ...list, data: data && { data: showsEnded ? keys : live } }}
          rowId={({ key }) => key.id}
          skeletonLines={3}
          empty={
            <EmptyState icon={KeyRound} title="No active keys" action={newButton}>
              <p>Create a key to use the API from scripts, deployments or your own tools.</p>
            </EmptyState>
          }
        />
        {keys.length > live.length && (
          <div className="border-t border-line px-4 py-3">
            <Checkbox
              label={`Show revoked and expired keys (${keys.length - live.length})`}
              isChecked={showsEnded}
              onChange={setShowsEnded}
            />
          </div>
        )}
      </Section>
      <Suspense>{isNew && <NewKey onClose={() => setNew(false)} />}</Suspense>
    </>
  )
}

const columnsWith = (
  canChange: (role: ApiKey['role']) => boolean,
): Column<{ key: ApiKey; condition: KeyCondition }>[] => [
  {
    id: 'name',
    header: 'Name',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell(({ key, condition }) => (
      <>
        <p className={condition === 'live' ? 'font-medium break-words' : 'break-words text-faint'}>{key.name}</p>
        <p className="font-mono text-2xs break-all text-faint">{key.id}</p>
        <p className="mt-1 flex flex-wrap items-center gap-x-1.5 text-xs text-soft sm:hidden">
          {KEY_ROLES[key.role].label} <span aria-hidden="true">·</span> <KeyState apiKey={key} condition={condition} />
        </p>
        <div className="sm:hidden">
          <Limits apiKey={key} />
        </div>
      </>
    )),
  },
  {
    id: 'role',
    header: 'Role',
    meta: { className: 'hidden sm:table-cell' },
    cell: rowCell(({ key }) => (
      <>
        {KEY_ROLES[key.role].label}
        <Limits apiKey={key} />
      </>
    )),
  },
  {
    id: 'state',
    header: 'State',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: rowCell(({ key, condition }) => <KeyState apiKey={key} condition={condition} />),
  },
  {
    id: 'last_used',
    header: 'Last used',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell(({ key }) =>
      key.last_used ? <Time at={key.last_used} /> : <span className="text-faint">never</span>,
    ),
  },
  {
    id: 'created',
    header: 'Created',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell(({ key, condition }) => (
      <>
        <Time at={key.created} />
        <span className="block text-xs text-faint">
          {key.created_by ?? (condition === 'live' ? 'command line' : '')}
        </span>
      </>
    )),
  },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-0', cellClassName: 'text-right' },
    cell: rowCell(
      ({ key, condition }) =>
        canChange(key.role) && condition !== 'revoked' && <KeyMenu apiKey={key} condition={condition} />,
    ),
  },
]

function Limits({ apiKey: { limits } }: { apiKey: ApiKey }) {
  const sentence = limitsSentence(limits)
  return sentence && <span className="block max-w-56 text-xs text-faint">{sentence}</span>
}

function KeyState({ apiKey, condition }: { apiKey: ApiKey; condition: KeyCondition }) {
  const { expires, revoked, previous_expires } = apiKey
  if (condition === 'revoked') return <span className="text-faint">Revoked {revoked && <Time at={revoked} />}</span>
  if (condition === 'expired') return <span className="text-faint">Expired {expires && <Time at={expires} />}</span>
  return (
    <span>
      {expires ? (
        <>
          Expires <Time at={expires} />
        </>
      ) : (
        'Does not expire'
      )}
      {previous_expires && (
        <span className="block text-xs text-warn">
          Rotated: the old key works until <Time at={previous_expires} isExact />
        </span>
      )}
    </span>
  )
}
