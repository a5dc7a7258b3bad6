import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { ME } from '../session.tsx'

/** What follows once a session has begun: the pages inside, as the person who signed in. */
export function useEnter(): (to?: string) => Promise<void> {
  const router = useRouter()
  const queries = useQueryClient()
  return async (to = '/dashboard/') => {
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== ME[0] })
    await queries.invalidateQueries({ queryKey: ME, refetchType: 'none' })
    queries.removeQueries({ queryKey: ME })
    // Only a page of the dashboard: an address in a link may say anything.
    router.history.push(to.startsWith('/dashboard/') ? to : '/dashboard/')
  }
}
