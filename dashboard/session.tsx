import { type QueryClient, queryOptions, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { Me } from '#contract/account.ts'
import { ApiProblem, actFor, api } from './api.ts'

export const ME = ['me'] as const
const CHOSEN = 'zonewatch.organization'

type Membership = Me['organizations'][number]
export type Role = Membership['role']

/** Null when nobody is signed in. */
export const meQuery = queryOptions({
  queryKey: ME,
  queryFn: async (): Promise<Me | null> => {
    try {
      const me = await api.get<Me>('/dashboard/api/me')
      actFor(chosen(me)?.id)
      return me
    } catch (error) {
      if (error instanceof ApiProblem && error.status === 401) return null
      throw error
    }
  },
  staleTime: 60_000,
})

/** The organization that was looked at last in this tab or, in a new one, in this browser. */
function chosen(me: Me, id = chosenId()): Membership | undefined {
  return me.organizations.find((each) => each.id === id) ?? me.organizations[0]
}

const chosenId = () => sessionStorage.getItem(CHOSEN) ?? localStorage.getItem(CHOSEN)
const listeners = new Set<() => void>()
function onChoice(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** From here on this organization is the one to look at, in this tab and in new ones. */
export function rememberOrganization(id: string): void {
  sessionStorage.setItem(CHOSEN, id)
  localStorage.setItem(CHOSEN, id)
}

/** Shows another of the person's organizations from here on. What was fetched for the one before is forgotten. */
export function switchOrganization(queries: QueryClient, id: string): void {
  rememberOrganization(id)
  actFor(id)
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] })
  for (const listener of listeners) listener()
}

export type Session = { me: Me; organization: Membership; can: (what: Act) => boolean }

/** What roles differ in. `write`: monitors, groups, webhooks and alert rules. `manage`: channels, agents, keys and settings. `own`: billing and deletion. */
export type Act = 'write' | 'manage' | 'own'
const ALLOWED: Record<Role, readonly Act[]> = {
  viewer: [],
  member: ['write'],
  admin: ['write', 'manage'],
  owner: ['write', 'manage', 'own'],
}

/** Who is signed in, and for which organization. Only below the routes that need it. */
export function useSession(): Session {
  const { data: me } = useSuspenseQuery(meQuery)
  const id = useSyncExternalStore(onChoice, chosenId)
  if (!me) throw new Error('You are not signed in.')
  const organization = chosen(me, id)
  if (!organization) throw new Error('You do not belong to an organization.')
  return { me, organization, can: (what) => ALLOWED[organization.role].includes(what) }
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    await api.post('/dashboard/auth/sign-out', {})
    queries.clear()
    location.assign('/dashboard/sign-in')
  }
}
