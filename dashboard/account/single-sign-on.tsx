import { queryOptions } from '@tanstack/react-query'
import type { Welcome } from '#contract/account.ts'
import { api } from '../api.ts'
import { ButtonAnchor } from '../ui/button.tsx'

export const welcomeQuery = queryOptions({
  queryKey: ['welcome'],
  queryFn: () => api.get<Welcome>('/dashboard/api/welcome'),
})

/** What the server says of a failed sign-in, in `?problem=`. */
const PROBLEMS: Record<string, string> = {
  expired: 'The sign-in took too long, or began in another browser. Start again.',
  refused: 'The provider did not sign you in. Start again, or ask your administrator.',
  unreachable: 'The provider does not respond at the moment. Try again in a minute.',
  failed: 'The answer of the provider was not valid. Start again. If it fails again, the log of the server says why.',
  no_email:
    'The provider did not say which email address you have. Ask your administrator to add it to what Zonewatch receives.',
  unconfirmed_email: 'The provider did not confirm your email address. Confirm it there, then start again.',
  foreign_email: 'Your email address is not of a domain that this provider may vouch for. Ask your administrator.',
  no_access:
    'You are known to the provider, but have no access to Zonewatch. Ask your administrator to add you to a group that has.',
  plan_full: 'The organization has no place for another member in its plan. Ask its owner.',
  too_many: 'Too many attempts. Wait a few minutes, then start again.',
}

export function SingleSignOnProblem({ problem }: { problem: string }) {
  return (
    <p role="alert" className="mb-4 rounded-md bg-bad-wash px-3 py-2.5 text-sm text-bad">
      {PROBLEMS[problem] ?? PROBLEMS.failed}
    </p>
  )
}

/** A link for each provider. `to` is a path below /dashboard, with its query. */
export function ProviderLinks({
  providers = [],
  to,
  isInNewTab = false,
}: {
  providers: Welcome['providers'] | undefined
  to: string | undefined
  isInNewTab?: boolean
}) {
  if (providers.length === 0) return null
  return (
    <ul className="flex flex-col gap-2">
      {providers.map(({ id, name }) => (
        <li key={id}>
          <ButtonAnchor
            href={`/dashboard/auth/oidc/${id}/start${to === undefined ? '' : `?to=${encodeURIComponent(to)}`}`}
            {...(isInNewTab && { target: '_blank', rel: 'noopener' })}
            className="w-full"
          >
            Sign in with {name}
          </ButtonAnchor>
        </li>
      ))}
    </ul>
  )
}
