import { type QueryClient, queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Me, SignedOut } from '#contract/account.ts'
import { ApiProblem, api, setRequestOrganization } from './api.ts'

export const ME = ['me'] as const
const STORAGE_KEY = 'zonewatch.organization'

type Membership = Me['organizations'][number]
export type Role = Membership['role']

/** Null without a session. */
export const meQuery = queryOptions({
  queryKey: ME,
  queryFn: async (): Promise<Me | null> => {
    try {
      const me = await api.get<Me>('/dashboard/api/me')
      setRequestOrganization(currentOrganization(me)?.id)
      return me
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** The organization last used in this tab or, in a new tab, in this browser. */
function currentOrganization(me: Me, id = storedId()): Membership | undefined {
  return me.organizations.find((organization) => organization.id === id) ?? me.organizations[0]
}

const storedId = () => sessionStorage.getItem(STORAGE_KEY) ?? localStorage.getItem(STORAGE_KEY)
const listeners = new Set<() => void>()
function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Selects the organization for this tab and for new ones. */
export function saveOrganization(id: string): void {
  sessionStorage.setItem(STORAGE_KEY, id)
  localStorage.setItem(STORAGE_KEY, id)
}

/** Switches to another organization of the user, and drops the data of the previous one. */
export function switchOrganization(queries: QueryClient, id: string): void {
  saveOrganization(id)
  setRequestOrganization(id)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] })
  for (const listener of listeners) listener()
}

export type Session = { me: Me; organization: Membership; can: (permission: Permission) => boolean }

/** `write`: monitors, groups, webhooks and alert rules. `manage`: channels, agents, keys and settings. `own`: billing and deletion. */
export type Permission = 'write' | 'manage' | 'own'
const PERMISSIONS: Record<Role, readonly Permission[]> = {
  viewer: [],
  member: ['write'],
  admin: ['write', 'manage'],
  owner: ['write', 'manage', 'own'],
}

/** The user and the organization. Only on pages that need a session. */
export function useSession(): Session {
  const { data: me } = useSuspenseQuery(meQuery)
  const id = useSyncExternalStore(subscribe, storedId)
  if (!me) throw new Error('You are not signed in.')
  const organization = currentOrganization(me, id)
  if (!organization) throw new Error('You do not belong to an organization.')
  return { me, organization, can: (permission) => PERMISSIONS[organization.role].includes(permission) }
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    const { url } = await api.post<SignedOut>('/dashboard/auth/sign-out', {})
    queries.clear()
    location.assign(url ?? '/dashboard/sign-in')
  }
}
