import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  Outlet,
  redirect,
  useRouter,
} from '@tanstack/react-router'
import { useEffect, useEffectEvent } from 'react'
import { ApiProblem } from './api.ts'
import { pickListSearch } from './monitors/list/query.ts'
import { parseSearch, pickSearch, stringifySearch } from './search.ts'
import { meQuery } from './session.tsx'
import { Shell } from './shell/shell.tsx'
import { ProblemPage } from './ui/problem.tsx'

/** A part that cannot be loaded is reported as an unreachable server. A reload would lose the state of the page. */
const lazy: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => loadPart(load), name)

const PART_TIMEOUT_MS = 12_000

async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  const timeout = new Promise<never>((_, reject) => setTimeout(reject, PART_TIMEOUT_MS))
  return await Promise.race([load(), timeout]).catch(() => {
    throw new ApiProblem(0, {})
  })
}

const RETRY_MS = 5_000

/** Retries on request, and by itself when the server could not be reached. */
function RouteProblem({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = useEffectEvent(() => void router.invalidate().finally(reset))
  const isTransient = error instanceof ApiProblem && [0, 408, 502, 503, 504].includes(error.status)
  useEffect(() => {
    if (!isTransient) return
    const timer = setInterval(() => retry(), RETRY_MS)
    return () => clearInterval(timer)
  }, [isTransient])
  return <ProblemPage problem={error} onRetry={() => void router.invalidate().finally(reset)} />
}

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  errorComponent: RouteProblem,
  notFoundComponent: lazy(() => import('./shell/not-found-page.tsx'), 'NotFoundPage'),
})

// Pages without a session.
const publicPage = <P extends string>(path: P) => ({ getParentRoute: () => root, path })
const signIn = createRoute({
  ...publicPage('sign-in'),
  validateSearch: pickSearch('to', 'code', 'problem'),
  component: lazy(() => import('./account/sign-in-page.tsx'), 'SignInPage'),
})
const signUp = createRoute({
  ...publicPage('sign-up'),
  component: lazy(() => import('./account/sign-up-page.tsx'), 'SignUpPage'),
})
const setup = createRoute({
  ...publicPage('setup/$token'),
  component: lazy(() => import('./account/first-owner-page.tsx'), 'FirstOwnerPage'),
})
const forgot = createRoute({
  ...publicPage('forgot'),
  component: lazy(() => import('./account/forgot-page.tsx'), 'ForgotPage'),
})
const reset = createRoute({
  ...publicPage('reset-password/$token'),
  component: lazy(() => import('./account/reset-password-page.tsx'), 'ResetPasswordPage'),
})
const verifyEmail = createRoute({
  ...publicPage('verify-email/$token'),
  component: lazy(() => import('./account/verify-email-page.tsx'), 'VerifyEmailPage'),
})
const confirmSignUp = createRoute({
  ...publicPage('confirm-sign-up/$token'),
  component: lazy(() => import('./account/verify-email-page.tsx'), 'ConfirmSignUpPage'),
})
const confirmAddress = createRoute({
  ...publicPage('alert-address/confirm/$token'),
  component: lazy(() => import('./alerts/address-page.tsx'), 'ConfirmAddressPage'),
})
const unsubscribe = createRoute({
  ...publicPage('alert-address/unsubscribe/$token'),
  component: lazy(() => import('./alerts/address-page.tsx'), 'UnsubscribePage'),
})
const acknowledgement = createRoute({
  ...publicPage('alert-acknowledgement/$token'),
  component: lazy(() => import('./alerts/acknowledge-page.tsx'), 'AcknowledgePage'),
})
const invitation = createRoute({
  ...publicPage('invitations/$token'),
  component: lazy(() => import('./account/invitation-page.tsx'), 'InvitationPage'),
})

/** All other pages need a session. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const me = await context.queries.ensureQueryData(meQuery)
    if (me) return
    const to = location.href === '/' ? undefined : location.href
    throw redirect({ to: '/sign-in', search: to ? { to } : {} })
  },
})

const page = <P extends string>(path: P) => ({ getParentRoute: () => signedIn, path })
const overview = createRoute({
  ...page('/'),
  component: lazy(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
})
const monitors = createRoute({
  ...page('monitors'),
  validateSearch: pickListSearch,
  component: lazy(() => import('./monitors/list/monitors-page.tsx'), 'MonitorsPage'),
})
const newMonitor = createRoute({
  ...page('monitors/new'),
  validateSearch: pickSearch('name', 'group'),
  component: lazy(() => import('./monitors/new/new-monitor-page.tsx'), 'NewMonitorPage'),
})
const importMonitors = createRoute({
  ...page('monitors/import'),
  validateSearch: pickSearch('from', 'group'),
  component: lazy(() => import('./monitors/import/import-page.tsx'), 'ImportPage'),
})
const monitor = createRoute({
  ...page('monitors/$monitor'),
  validateSearch: pickSearch('range', 'event'),
  component: lazy(() => import('./monitors/detail/monitor-page.tsx'), 'MonitorPage'),
})
const jobs = createRoute({
  ...page('jobs'),
  validateSearch: pickSearch('job', 'after', 'before'),
  component: lazy(() => import('./jobs/jobs-page.tsx'), 'JobsPage'),
})
const groups = createRoute({
  ...page('groups'),
  validateSearch: pickSearch('search'),
  component: lazy(() => import('./groups/groups-page.tsx'), 'GroupsPage'),
})
const group = createRoute({
  ...page('groups/$group'),
  component: lazy(() => import('./groups/group-page.tsx'), 'GroupPage'),
})
const events = createRoute({
  ...page('events'),
  validateSearch: pickSearch('group', 'old', 'new', 'since', 'until', 'after', 'before'),
  component: lazy(() => import('./events/events-page.tsx'), 'EventsPage'),
})
const webhooks = createRoute({
  ...page('webhooks'),
  validateSearch: pickSearch('state', 'after', 'before', 'open'),
  component: lazy(() => import('./webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})
const webhook = createRoute({
  ...page('webhooks/$webhook'),
  validateSearch: pickSearch('tab', 'status', 'request', 'after', 'before'),
  component: lazy(() => import('./webhooks/webhook-page.tsx'), 'WebhookPage'),
})
const undelivered = createRoute({
  ...page('webhooks/undelivered'),
  validateSearch: pickSearch('status', 'webhook', 'after', 'before'),
  component: lazy(() => import('./webhooks/undelivered-page.tsx'), 'UndeliveredPage'),
})
const zones = createRoute({
  ...page('zones'),
  validateSearch: pickSearch('health', 'after', 'before', 'open'),
  component: lazy(() => import('./zones/zones-page.tsx'), 'ZonesPage'),
})
const zone = createRoute({
  ...page('zones/$zone'),
  component: lazy(() => import('./zones/zone-page.tsx'), 'ZonePage'),
})
const alerts = createRoute({
  ...page('alerts'),
  validateSearch: pickSearch('tab', 'incident', 'group', 'job', 'open', 'after', 'before'),
  component: lazy(() => import('./alerts/alerts-page.tsx'), 'AlertsPage'),
})
const incident = createRoute({
  ...page('incidents/$incident'),
  component: lazy(() => import('./incidents/incident-page.tsx'), 'IncidentPage'),
})
const team = createRoute({
  ...page('team'),
  validateSearch: pickSearch('open'),
  component: lazy(() => import('./team/team-page.tsx'), 'TeamPage'),
})
const settings = createRoute({
  ...page('settings'),
  validateSearch: pickSearch('tab', 'actor', 'object', 'after', 'before'),
  component: lazy(() => import('./settings/settings-page.tsx'), 'SettingsPage'),
})
const server = createRoute({
  ...page('server'),
  component: lazy(() => import('./server/server-page.tsx'), 'ServerPage'),
})
const profile = createRoute({
  ...page('profile'),
  component: lazy(() => import('./account/profile-page.tsx'), 'ProfilePage'),
})

const tree = root.addChildren([
  signIn,
  signUp,
  setup,
  forgot,
  reset,
  verifyEmail,
  confirmSignUp,
  confirmAddress,
  unsubscribe,
  acknowledgement,
  invitation,
  signedIn.addChildren([
    overview,
    monitors,
    newMonitor,
    importMonitors,
    monitor,
    jobs,
    groups,
    group,
    events,
    webhooks,
    webhook,
    undelivered,
    zones,
    zone,
    alerts,
    incident,
    team,
    settings,
    server,
    profile,
  ]),
])

export function createDashboardRouter(queries: QueryClient) {
  return createRouter({
    routeTree: tree,
    basepath: '/dashboard',
    context: { queries },
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    scrollRestoration: true,
    defaultErrorComponent: RouteProblem,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createDashboardRouter>
  }
}
