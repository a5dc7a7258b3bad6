import './style.css'
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiProblem, whenSignedOut } from './api.ts'
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
      retry: (count, error) => isPassing(error) && count < 3,
      refetchOnWindowFocus: true,
    },
  },
})

const router = createDashboardRouter(queries)

whenSignedOut(() => {
  if (queries.getQueryData(ME) == null) return
  queries.setQueryData(ME, null)
  void router.invalidate()
})

// After an upgrade the parts that this page would still fetch are gone.
addEventListener('vite:preloadError', () => location.reload())

createRoot(document.getElementById('root')!).render(
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
