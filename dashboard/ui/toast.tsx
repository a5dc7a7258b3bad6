import { Toast } from '@base-ui/react/toast'
import { CircleCheck, TriangleAlert, X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { problemMessage } from './problem.tsx'

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider timeout={6_000}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-60 flex w-[calc(100vw-2rem)] max-w-sm flex-col gap-2 max-lg:in-[body:has([data-at-foot])]:bottom-20">
          <List />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function List() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((toast) => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className="popup flex items-start gap-2.5 rounded-lg border border-line bg-raised py-2.5 pr-2 pl-3.5 shadow-pop"
    >
      {toast.type === 'problem' ? (
        <TriangleAlert className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden="true" />
      ) : (
        <CircleCheck className="mt-0.5 size-4 shrink-0 text-good" aria-hidden="true" />
      )}
      <Toast.Description className="min-w-0 flex-1 py-px text-sm break-words" />
      <Toast.Close
        render={
          <Button variant="quiet" size="sm" isSquare aria-label="Dismiss">
            <X />
          </Button>
        }
      />
    </Toast.Root>
  ))
}

/** Short messages. `failed` shows the error message of the server. */
export function useToast() {
  const { add } = Toast.useToastManager()
  return {
    done: (description: string) => void add({ description, type: 'done' }),
    failed: (problem: unknown) =>
      void add({ description: problemMessage(problem), type: 'problem', priority: 'high', timeout: 12_000 }),
  }
}
