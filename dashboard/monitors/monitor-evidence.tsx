import { ArrowRight, Server, Waypoints } from 'lucide-react'
import { useState } from 'react'
import type { DiagnosisPath } from '#contract/diagnosis.ts'
import { extendedErrorName } from '#contract/extended-errors.ts'
import { visible } from '#contract/visible-text.ts'
import { ValueText } from '../events/value-text.tsx'
import { Button } from '../ui/button.tsx'
import { Time } from '../ui/time.tsx'
import { Tooltip } from '../ui/tooltip.tsx'
import { answerText, chainNames, FLAGS } from './monitor-evidence-text.ts'

const MAX_COLLAPSED = 6

/** When the evidence was collected. It is from the check that found the state, and may be older than the last check. */
export function EvidenceDate({ at, lastChecked }: { at: string | undefined; lastChecked?: string | null }) {
  if (at === undefined) return 'Collection time unknown.'
  const isOlder = lastChecked != null && Date.parse(lastChecked) - Date.parse(at) > SAME_CHECK_MS
  return (
    <>
      Collected <Time at={at} isExact />.{isOlder && ' Later checks found the same.'}
    </>
  )
}

/** The maximum duration of one check, including its confirmation. */
const SAME_CHECK_MS = 60_000

/** Each server that was queried, in order. */
export function Evidence({ paths }: { paths: readonly DiagnosisPath[] }) {
  const [isExpanded, setExpanded] = useState(false)
  const shown = isExpanded ? paths : paths.slice(0, MAX_COLLAPSED)
  if (paths.length === 0) return <p className="px-4 py-3 text-sm text-faint">No server was queried.</p>
  return (
    <>
      <ol className="divide-y divide-line">
        {shown.map((path, index) => (
          <Exchange key={index} path={path} />
        ))}
      </ol>
      {paths.length > MAX_COLLAPSED && (
        <div className="border-t border-line px-4 py-2.5">
          <Button
            size="sm"
            variant="quiet"
            aria-expanded={isExpanded}
            onClick={() => setExpanded(!isExpanded)}
            className="-ml-2.5"
          >
            {isExpanded ? 'Show fewer' : `Show all ${paths.length}`}
          </Button>
        </div>
      )}
    </>
  )
}

function Exchange({ path }: { path: DiagnosisPath }) {
  return (
    <li className="grid gap-x-6 gap-y-2 px-4 py-3 md:grid-cols-[minmax(0,15rem)_minmax(0,1fr)_auto]">
      <ServerName path={path} />
      <Answer path={path} />
      <QueryMeta path={path} />
    </li>
  )
}

function ServerName({ path: { path, name, server } }: { path: DiagnosisPath }) {
  const [icon, label] = path === 'recursive' ? [Waypoints, 'Recursive resolver'] : [Server, 'Name server']
  const Icon = icon as typeof Server
  return (
    <div className="flex min-w-0 gap-2.5">
      <Icon className="mt-0.5 size-4 shrink-0 text-faint" strokeWidth={1.9} aria-hidden="true" />
      <div className="min-w-0">
        <p className="text-xs text-faint">{label}</p>
        <p className="font-mono text-xs leading-5 break-all">{name ?? server}</p>
        {name && <p className="font-mono text-xs break-all text-faint">{server}</p>}
      </div>
    </div>
  )
}

function Answer({ path }: { path: DiagnosisPath }) {
  const { text, values, ttl, chain } = answerText(path)
  return (
    <div className="flex min-w-0 flex-col gap-1 pl-6.5 text-sm md:pl-0">
      {chain.length > 0 && <Chain chain={chain} />}
      {text && <p>{text}</p>}
      {values.length > 0 && (
        <ul className="font-mono text-xs leading-5">
          {values.map((value) => (
            <li key={value}>
              <ValueText value={value} />
            </li>
          ))}
        </ul>
      )}
      {ttl !== undefined && <p className="text-xs text-faint tabular-nums">TTL {ttl} s</p>}
      {path.ede.map(({ code, text }) => (
        <p key={`${code} ${text}`} className="text-xs text-soft">
          <span className="text-faint">{extendedErrorName(code)}</span>
          {text && `: ${visible(text)}`}
        </p>
      ))}
    </div>
  )
}

function Chain({ chain }: { chain: Parameters<typeof chainNames>[0] }) {
  return (
    <ol aria-label="CNAME chain" className="flex flex-wrap items-center gap-x-1.5 gap-y-1">
      {chainNames(chain).map(({ name, ttl }, index) => (
        <li key={index} className="flex items-center gap-1.5">
          {index > 0 && <ArrowRight className="size-3.5 shrink-0 text-faint" aria-hidden="true" />}
          <span className="rounded-md border border-line bg-sunken px-1.5 font-mono text-xs leading-5 break-all">
            {name}
          </span>
          {ttl !== undefined && <span className="text-2xs whitespace-nowrap text-faint tabular-nums">TTL {ttl} s</span>}
        </li>
      ))}
    </ol>
  )
}

/** Response code, flags, transport, duration and time of the query. */
function QueryMeta({ path: { rcode, flags, transport, ms, at } }: { path: DiagnosisPath }) {
  return (
    <div className="flex flex-wrap items-center gap-x-2 pl-6.5 md:w-44 md:content-start md:justify-end md:pl-0">
      {rcode && <span className="font-mono text-xs leading-6 font-medium">{rcode}</span>}
      {flags.length > 0 && (
        <ul aria-label="Flags" className="flex">
          {flags.map((flag) => (
            <li key={flag}>
              <Tooltip text={FLAGS[flag] ?? flag}>
                <button
                  type="button"
                  aria-label={`${flag}: ${FLAGS[flag] ?? 'a flag'}`}
                  className="h-6 min-w-6 cursor-help rounded-sm px-1 font-mono text-xs text-faint hover:bg-sunken hover:text-ink"
                >
                  {flag}
                </button>
              </Tooltip>
            </li>
          ))}
        </ul>
      )}
      <span className="text-xs whitespace-nowrap text-faint tabular-nums md:w-full md:text-right">
        {transport.toUpperCase()} · {msText(ms)}
      </span>
      {at !== undefined && (
        <span className="text-xs text-faint tabular-nums md:w-full md:text-right">
          <span className="sr-only">queried </span>
          <Time at={at} isExact="clock" />
        </span>
      )}
    </div>
  )
}

const msText = (ms: number): string => (ms < 10 ? `${Number(ms.toFixed(1))} ms` : `${Math.round(ms)} ms`)
