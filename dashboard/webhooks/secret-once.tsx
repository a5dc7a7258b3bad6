import { Button } from '../ui/button.tsx'
import { Snippet } from '../ui/copy.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Receivers } from './receivers.tsx'

type SecretProps = {
  title: string
  secret: string
  doneLabel: string
  onDone: () => void
}

/** Shows a secret once, with example receivers. */
export function SecretOnce({ title, secret, doneLabel, onDone }: SecretProps) {
  return (
    <Dialog
      isOpen
      isWide
      isPersistent
      onClose={onDone}
      title={title}
      description="Copy the secret now. It is not shown again. If you lose it, rotate the secret."
      footer={
        <Button variant="primary" onClick={onDone}>
          {doneLabel}
        </Button>
      }
    >
      <div className="flex flex-col gap-5">
        <div>
          <h3 className="mb-1.5 text-sm font-medium">Signing secret</h3>
          <Snippet text={secret} label="Copy secret" />
        </div>
        <div>
          <h3 className="text-sm font-medium">Example receiver</h3>
          <p className="mb-2 text-xs text-faint">
            It verifies the signature and prints each change. Run it, then send a test from the webhook’s page.
          </p>
          <Receivers secret={secret} />
        </div>
      </div>
    </Dialog>
  )
}
