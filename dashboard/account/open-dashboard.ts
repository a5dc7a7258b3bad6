import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'

/** Opens the dashboard after sign-in. `to` is a path below /dashboard, with its query. */
export function useOpenDashboard(): (to?: string) => Promise<void> {
  const router = useRouter()
  const queries = useQueryClient()
  return async (to = '/') => {
    queries.removeQueries()
    // Only paths of the dashboard, because `to` comes from a link.
    router.history.push(/^\/(?!\/)/.test(to) ? `/dashboard${to}` : '/dashboard/')
  }
}
