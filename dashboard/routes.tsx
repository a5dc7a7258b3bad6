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
import { listSearchOf } from './monitors/list-query.ts'
import { parseSearch, searchOf, stringifySearch } from './search.ts'
import { meQuery } from './session.tsx'
import { Shell } from './shell/shell.tsx'
import { ProblemPage } from './ui/problem.tsx'

/** A part of the program that cannot be fetched is a server that cannot be reached: reloading would lose what is here. */
const lazy: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => fetched(load), name)

const PART_TIMEOUT_MS = 12_000

async function fetched<T>(load: () => Promise<T>): Promise<T> {
  const tooLong = new Promise<never>((_, reject) => setTimeout(reject, PART_TIMEOUT_MS))
  return await Promise.race([load(), tooLong]).catch(() => {
    throw new ApiProblem(0, {})
  })
}

const RETRY_MS = 5_000

/** Loads again when asked to, and by itself where the server could not be reached. */
function RouteProblem({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  const retry = useEffectEvent(() => void router.invalidate().finally(reset))
  const isPassing = error instanceof ApiProblem && [0, 408, 502, 503, 504].includes(error.status)
  useEffect(() => {
    if (!isPassing) return
    const timer = setInterval(() => retry(), RETRY_MS)
    return () => clearInterval(timer)
  }, [isPassing])
  return <ProblemPage problem={error} onRetry={() => void router.invalidate().finally(reset)} />
}

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  errorComponent: RouteProblem,
  notFoundComponent: lazy(() => import('./shell/nothing-here.tsx'), 'NothingHere'),
})

// Without a session: signing in, and what brings someone in.
const page = <P extends string>(path: P) => ({ getParentRoute: () => root, path })
const signIn = createRoute({
  ...page('sign-in'),
  validateSearch: searchOf('to'),
  component: lazy(() => import('./account/sign-in-page.tsx'), 'SignInPage'),
})
const signUp = createRoute({
  ...page('sign-up'),
  component: lazy(() => import('./account/sign-up-page.tsx'), 'SignUpPage'),
})
const setup = createRoute({
  ...page('setup/$token'),
  component: lazy(() => import('./account/first-owner-page.tsx'), 'FirstOwnerPage'),
})
const forgot = createRoute({
  ...page('forgot'),
  component: lazy(() => import('./account/forgot-page.tsx'), 'ForgotPage'),
})
const reset = createRoute({
  ...page('reset-password/$token'),
  component: lazy(() => import('./account/reset-password-page.tsx'), 'ResetPasswordPage'),
})
const verifyEmail = createRoute({
  ...page('verify-email/$token'),
  component: lazy(() => import('./account/verify-email-page.tsx'), 'VerifyEmailPage'),
})
const confirmAddress = createRoute({
  ...page('alert-address/confirm/$token'),
  component: lazy(() => import('./alerts/address-page.tsx'), 'ConfirmAddressPage'),
})
const unsubscribe = createRoute({
  ...page('alert-address/unsubscribe/$token'),
  component: lazy(() => import('./alerts/address-page.tsx'), 'UnsubscribePage'),
})
const acknowledgement = createRoute({
  ...page('alert-acknowledgement/$token'),
  component: lazy(() => import('./alerts/acknowledge-page.tsx'), 'AcknowledgePage'),
})
const invitation = createRoute({
  ...page('invitations/$token'),
  component: lazy(() => import('./account/invitation-page.tsx'), 'InvitationPage'),
})

/** Everything else needs someone to be signed in. */
const inside = createRoute({
  getParentRoute: () => root,
  id: 'inside',
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    const me = await context.queries.ensureQueryData(meQuery)
    if (me) return
    const to = location.href === '/' ? undefined : location.href
    throw redirect({ to: '/sign-in', search: to ? { to } : {} })
  },
})

const view = <P extends string>(path: P) => ({ getParentRoute: () => inside, path })
const overview = createRoute({
  ...view('/'),
  component: lazy(() => import('./overview/overview-page.tsx'), 'OverviewPage'),
})
const monitors = createRoute({
  ...view('monitors'),
  validateSearch: listSearchOf,
  component: lazy(() => import('./monitors/monitors-page.tsx'), 'MonitorsPage'),
})
const newMonitor = createRoute({
  ...view('monitors/new'),
  validateSearch: searchOf('name', 'group'),
  component: lazy(() => import('./monitors/new-monitor-page.tsx'), 'NewMonitorPage'),
})
const importMonitors = createRoute({
  ...view('monitors/import'),
  validateSearch: searchOf('from', 'group'),
  component: lazy(() => import('./monitors/import-page.tsx'), 'ImportPage'),
})
const monitor = createRoute({
  ...view('monitors/$monitor'),
  validateSearch: searchOf('range', 'event'),
  component: lazy(() => import('./monitors/monitor-page.tsx'), 'MonitorPage'),
})
const jobs = createRoute({
  ...view('jobs'),
  validateSearch: searchOf('job', 'after', 'before'),
  component: lazy(() => import('./jobs/jobs-page.tsx'), 'JobsPage'),
})
const groups = createRoute({
  ...view('groups'),
  validateSearch: searchOf('search'),
  component: lazy(() => import('./groups/groups-page.tsx'), 'GroupsPage'),
})
const group = createRoute({
  ...view('groups/$group'),
  component: lazy(() => import('./groups/group-page.tsx'), 'GroupPage'),
})
const events = createRoute({
  ...view('events'),
  validateSearch: searchOf('group', 'old', 'new', 'since', 'until', 'after', 'before'),
  component: lazy(() => import('./events/events-page.tsx'), 'EventsPage'),
})
const webhooks = createRoute({
  ...view('webhooks'),
  validateSearch: searchOf('state', 'after', 'before', 'open'),
  component: lazy(() => import('./webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})
const webhook = createRoute({
  ...view('webhooks/$webhook'),
  validateSearch: searchOf('tab', 'status', 'request', 'after', 'before'),
  component: lazy(() => import('./webhooks/webhook-page.tsx'), 'WebhookPage'),
})
const undelivered = createRoute({
  ...view('webhooks/undelivered'),
  validateSearch: searchOf('status', 'webhook', 'after', 'before'),
  component: lazy(() => import('./webhooks/undelivered-page.tsx'), 'UndeliveredPage'),
})
const alerts = createRoute({
  ...view('alerts'),
  validateSearch: searchOf('tab', 'incident', 'open', 'after', 'before'),
  component: lazy(() => import('./alerts/alerts-page.tsx'), 'AlertsPage'),
})
const team = createRoute({
  ...view('team'),
  validateSearch: searchOf('open'),
  component: lazy(() => import('./team/team-page.tsx'), 'TeamPage'),
})
const settings = createRoute({
  ...view('settings'),
  validateSearch: searchOf('tab', 'actor', 'object', 'after', 'before'),
  component: lazy(() => import('./settings/settings-page.tsx'), 'SettingsPage'),
})
const server = createRoute({
  ...view('server'),
  component: lazy(() => import('./server/server-page.tsx'), 'ServerPage'),
})
const profile = createRoute({
  ...view('profile'),
  component: lazy(() => import('./account/profile-page.tsx'), 'ProfilePage'),
})

const tree = root.addChildren([
  signIn,
  signUp,
  setup,
  forgot,
  reset,
  verifyEmail,
  confirmAddress,
  unsubscribe,
  acknowledgement,
  invitation,
  inside.addChildren([
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
    alerts,
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
