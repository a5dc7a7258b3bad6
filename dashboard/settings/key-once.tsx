import type { ReactNode } from 'react'
import type { ApiKeyWithSecret } from '#contract/api-keys.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Snippet } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { curlOf } from './keys.ts'

type OnceProps = { apiKey: ApiKeyWithSecret; title: string; note?: ReactNode; onDone: () => void }

/** Shows a key once, with an example. */
export function KeyOnce({ apiKey, title, note, onDone }: OnceProps) {
  const { me } = useSession()
  return (
    <Dialog
      isOpen
      isWide
      isPersistent
      onClose={onDone}
      title={title}
      description="Copy the key now. It is not shown again."
      footer={
        <Button variant="primary" onClick={onDone}>
          Done
        </Button>
      }
    >
      <div className="flex flex-col gap-5">
        <div>
          <h3 className="mb-1.5 text-sm font-medium">API key</h3>
          <Snippet text={apiKey.key} label="Copy key" />
        </div>
        {note}
        <div>
          <h3 className="mb-1.5 text-sm font-medium">Try it</h3>
          <Snippet text={curlOf(apiKey.key, me.server.base_url)} label="Copy command" />
          <p className="mt-1.5 text-xs text-faint">
            See the{' '}
            <a
              href="/docs/api"
              target="_blank"
              rel="noreferrer"
              className="rounded-sm text-accent-ink underline underline-offset-2"
            >
              API reference
            </a>
            .
          </p>
        </div>
      </div>
    </Dialog>
  )
}
