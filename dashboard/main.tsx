import './style.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { waitForSignIn } from './account/expired-session.ts'
import { ApiProblem, onSessionExpired } from './api.ts'
import { pingServer } from './connection.ts'
import { createDashboardRouter } from './routes.tsx'
import { ME } from './session.tsx'
import { Toasts } from './ui/toast.tsx'
import { Tooltips } from './ui/tooltip.tsx'

/** No connection, or a server that starts or stops. */
const isTransient = (error: unknown) => error instanceof ApiProblem && (error.status === 0 || error.status === 503)

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // One retry, so that the user sees the error within 15 seconds. Pages load again when the server is back.
      retry: (count, error) => isTransient(error) && count < 1,
      retryDelay: 1_000,
      // A server on this machine can be reached without a network.
      networkMode: 'always',
      refetchOnWindowFocus: true,
    },
    mutations: { networkMode: 'always' },
  },
})

const router = createDashboardRouter(queries)

// An expired session asks for the password on the same page. A page opened without a session goes to the sign-in page.
onSessionExpired(async () => (queries.getQueryData(ME) == null ? false : await waitForSignIn()))

// After an upgrade the lazy parts of the old version are gone, so the page reloads, unless the server cannot be reached.
addEventListener('vite:preloadError', async () => {
  if (await pingServer()) location.reload()
})

createRoot(document.getElementById('root')!, {
  // The page shows an ApiProblem itself.
  onCaughtError: (error) => {
    if (!(error instanceof ApiProblem)) console.error(error)
  },
}).render(
  <StrictMode>
    {/* The Content-Security-Policy allows no style elements. */}
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
