import { Check, Copy as CopyIcon } from 'lucide-react'
import { useState } from 'react'
import { Button } from './button.tsx'

/** `label` says what is copied ("Copy key"); `hasLabel` shows it next to the icon. */
export function CopyButton({ text, label, hasLabel }: { text: string; label: string; hasLabel?: boolean }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await copyText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <Button
      variant={hasLabel ? 'plain' : 'quiet'}
      size="sm"
      isSquare={!hasLabel}
      aria-label={hasLabel ? undefined : label}
      onClick={copy}
    >
      {isCopied ? <Check className="text-good" /> : <CopyIcon />}
      {hasLabel && (isCopied ? 'Copied' : label)}
      {!hasLabel && (
        <span aria-live="polite" className="sr-only">
          {isCopied ? 'Copied' : ''}
        </span>
      )}
    </Button>
  )
}

/** Text to copy: a key, a secret, a command. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <div className="flex items-start gap-1 rounded-md border border-line bg-sunken py-1 pr-1 pl-3">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0} className="min-w-0 flex-1 overflow-x-auto py-1 font-mono text-xs leading-5">
        {text}
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  )
}

export async function copyText(text: string): Promise<void> {
  // Browsers offer the clipboard only over HTTPS and on localhost.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = Object.assign(document.createElement('textarea'), { value: text })
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
