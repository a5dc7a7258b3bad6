import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'

/** What follows once a session has begun: the pages inside, as the person who signed in. `to`: a path below /dashboard, with its query. */
export function useEnter(): (to?: string) => Promise<void> {
  const router = useRouter()
  const queries = useQueryClient()
  return async (to = '/') => {
    queries.removeQueries()
    // A path of the dashboard and nothing else: a link may say anything there.
    router.history.push(/^\/(?!\/)/.test(to) ? `/dashboard${to}` : '/dashboard/')
  }
}
