import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Sessions as List } from '#contract/account.ts'
import { api } from '../api.ts'
import { Button } from '../ui/button.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Badge } from '../ui/state.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'

/** The sessions of the user, with buttons to sign them out. */
export function Sessions() {
  const queries = useQueryClient()
  const toast = useToast()
  const list = useQuery({ queryKey: ['sessions'], queryFn: () => api.get<List>('/dashboard/auth/list-sessions') })
  const end = useMutation({
    mutationFn: (id: string | null) =>
      id === null
        ? api.post('/dashboard/auth/revoke-other-sessions')
        : api.post('/dashboard/auth/revoke-session', { id }),
    onSuccess: (_response, id) =>
      toast.done(id === null ? 'All other sessions were signed out.' : 'Session signed out.'),
    onError: toast.failed,
    onSettled: () => queries.invalidateQueries({ queryKey: ['sessions'] }),
  })
  const others = list.data?.data.filter(({ current }) => !current).length ?? 0
  return (
    <Section
      title="Sessions"
      hint="Browsers that are signed in to your account."
      isFlush
      actions={
        others > 0 && (
          <Button size="sm" isBusy={end.isPending && end.variables === null} onClick={() => end.mutate(null)}>
            Sign out all others
          </Button>
        )
      }
    >
      {list.isPending && <Skeleton className="p-4" />}
      {list.error && (
        <div className="p-4">
          <ProblemNote problem={list.error} />
        </div>
      )}
      <ul className="divide-y divide-line">
        {list.data?.data.map(({ id, created, address, user_agent, current }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-3">
            <div className="min-w-0 flex-1">
              <span className="font-medium">{browserName(user_agent)}</span>
              <span className="block text-xs text-faint">
                {address ?? 'unknown address'} · signed in <Time at={created} />
              </span>
            </div>
            {current ? (
              <Badge tone="good" label="This session" />
            ) : (
              <Button size="sm" isBusy={end.isPending && end.variables === id} onClick={() => end.mutate(id)}>
                Sign out
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Section>
  )
}

const BROWSERS: [RegExp, string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
  [/curl\//, 'curl'],
]
const SYSTEMS: [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** "Firefox on Linux", from the User-Agent header. */
export function browserName(userAgent: string | null): string {
  if (!userAgent) return 'Unknown browser'
  const match = (list: [RegExp, string][]) => list.find(([pattern]) => pattern.test(userAgent))?.[1]
  const [browser, system] = [match(BROWSERS), match(SYSTEMS)]
  if (!browser) return userAgent.slice(0, 40)
  return system ? `${browser} on ${system}` : browser
}
