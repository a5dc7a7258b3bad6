import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { Text } from './attempt.tsx'
import { indented } from './indented.ts'
import { bodyQuery } from './queries.ts'

/** The body that every attempt sends, octet for octet: what a signature is computed over. It can be shown with line breaks. */
export function Payload({ webhook, request }: { webhook: string; request: string }) {
  const { data, error } = useQuery(bodyQuery(webhook, request))
  const [isIndented, setIndented] = useState(true)
  return (
    <section>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h3 className="text-sm font-semibold">
          Payload{' '}
          {data && (
            <span className="font-normal text-faint tabular-nums">
              {new TextEncoder().encode(data.body).length.toLocaleString()} bytes, identical in every attempt
            </span>
          )}
        </h3>
        {data && (
          <span className="flex gap-1">
            <Button variant="quiet" size="sm" aria-pressed={!isIndented} onClick={() => setIndented(!isIndented)}>
              {isIndented ? 'Show raw' : 'Show formatted'}
            </Button>
            <CopyButton text={data.body} label="Copy raw payload" hasLabel />
          </span>
        )}
      </div>
      {data ? (
        <Text label="Payload">{isIndented ? indented(data.body) : data.body}</Text>
      ) : error ? (
        <ProblemNote problem={error} />
      ) : (
        <Skeleton lines={4} />
      )}
    </section>
  )
}
