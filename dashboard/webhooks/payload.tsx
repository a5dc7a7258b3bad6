import type { WebhookRequestInFull } from '#contract/webhooks.ts'
import { Copy } from '../ui/copy.tsx'
import { Text } from './attempt.tsx'

/** What every attempt sends, made readable; the size is that of the octets on the wire, which have no blanks. */
export function Payload({ payload }: { payload: WebhookRequestInFull['payload'] }) {
  const octets = new TextEncoder().encode(JSON.stringify(payload)).length
  const pretty = JSON.stringify(payload, null, 2)
  return (
    <section>
      <div className="mb-2 flex items-center justify-between gap-4">
        <h3 className="text-sm font-semibold">
          Payload{' '}
          <span className="font-normal text-faint tabular-nums">
            {octets.toLocaleString()} bytes, the same each time
          </span>
        </h3>
        <Copy text={pretty} label="Copy JSON" isWordy />
      </div>
      <Text label="Payload">{pretty}</Text>
    </section>
  )
}
