import './style.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { untilSignedIn } from './account/session-over.ts'
import { ApiProblem, whenSignedOut } from './api.ts'
import { askServer } from './connection.ts'
import { createDashboardRouter } from './routes.tsx'
import { ME } from './session.tsx'
import { Toasts } from './ui/toast.tsx'
import { Tooltips } from './ui/tooltip.tsx'

/** What can be mended by asking again: no connection, or a server that starts or stops. Not what it refuses. */
const isPassing = (error: unknown) => error instanceof ApiProblem && (error.status === 0 || error.status === 503)

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Once more, soon: anyone who waits sees within 15 seconds what is wrong, and pages ask again when the server is back.
      retry: (count, error) => isPassing(error) && count < 1,
      retryDelay: 1_000,
      // A server on this machine can be reached without a network.
      networkMode: 'always',
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: 'always' },
  },
})

const router = createDashboardRouter(queries)

// A session that ends is begun again in place; a page that was opened without one leads to the sign-in page.
whenSignedOut(async () => (queries.getQueryData(ME) == null ? false : await untilSignedIn()))

// After an upgrade the parts that this page would still fetch are gone. A server that is away has nothing to load instead.
addEventListener('vite:preloadError', async () => {
  if (await askServer()) location.reload()
})

createRoot(document.getElementById('root')!, {
  // A server that cannot be reached is shown, and is no fault of the page.
  onCaughtError: (error) => {
    if (!(error instanceof ApiProblem)) console.error(error)
  },
}).render(
  <StrictMode>
    {/* The page's policy allows no style elements; ours need none. */}
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <Tooltips>
          <Toasts>
            <RouterProvider router={router} />
          </Toasts>
        </Tooltips>
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
