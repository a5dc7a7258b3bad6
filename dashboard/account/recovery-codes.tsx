import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'

/** Shown once. */
export function RecoveryCodes({ codes, onDone }: { codes: string[]; onDone: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <p className="text-sm text-soft">
        Use a recovery code to sign in if you lose your phone. Each code works once. Store the codes in your password
        manager; they are not shown again.
      </p>
      <ul className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md bg-sunken px-4 py-3 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex justify-end gap-2">
        <CopyButton text={codes.join('\n')} label="Copy codes" hasLabel />
        <Button variant="primary" size="sm" onClick={onDone}>
          I saved the codes
        </Button>
      </div>
    </div>
  )
}
