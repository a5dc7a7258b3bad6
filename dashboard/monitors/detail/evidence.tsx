import { ArrowRight, ChevronDown, Server, Waypoints } from 'lucide-react'
import { useState } from 'react'
import type { DiagnosisPath } from '#contract/diagnosis.ts'
import { extendedErrorName } from '#contract/extended-errors.ts'
import { visible } from '#contract/visible-text.ts'
import { ValueText } from '../../events/value-text.tsx'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { Badge } from '../../ui/state.tsx'
import { Time } from '../../ui/time.tsx'
import { Tooltip } from '../../ui/tooltip.tsx'
import { answerText, chainNames, FLAGS } from './evidence-text.ts'
import { agreementText, groupByServer, type QueriedServer } from './servers.ts'

const MAX_COLLAPSED = 6

/** A row for each server that was queried, with its answers; the exchanges with it on request. */
export function Evidence({ paths }: { paths: readonly DiagnosisPath[] }) {
  const [isExpanded, setExpanded] = useState(false)
  const { servers, ...counts } = groupByServer(paths)
  const shown = isExpanded ? servers : servers.slice(0, MAX_COLLAPSED)
  if (paths.length === 0) return <p className="px-4 py-3 text-sm text-faint">No server was queried.</p>
  return (
    <>
      <p className="border-b border-line px-4 py-2.5 text-sm text-soft">{agreementText(counts)}</p>
      <ul aria-label="Servers" className="divide-y divide-line">
        {shown.map((server) => (
          <ServerRow key={`${server.path} ${server.name} ${server.server}`} queried={server} />
        ))}
      </ul>
      {servers.length > MAX_COLLAPSED && (
        <div className="border-t border-line px-4 py-2.5">
          <Button
            size="sm"
            variant="quiet"
            aria-expanded={isExpanded}
            onClick={() => setExpanded(!isExpanded)}
            className="-ml-2.5"
          >
            {isExpanded ? 'Show fewer' : `Show all ${servers.length} servers`}
          </Button>
        </div>
      )}
    </>
  )
}

function ServerRow({ queried }: { queried: QueriedServer }) {
  const [isOpen, setOpen] = useState(false)
  const { answers, exchanges, standing } = queried
  const last = answers.at(-1)!
  return (
    <li>
      <div className="grid gap-x-6 gap-y-2 px-4 py-3 md:grid-cols-[minmax(0,15rem)_minmax(0,1fr)_auto]">
        <ServerName path={last} />
        <div className="flex min-w-0 flex-col gap-2">
          {answers.map((path, index) => (
            <Answer key={index} path={path} />
          ))}
          {standing === 'differs' && (
            <p className="pl-6.5 md:pl-0">
              <Badge tone="warn" label="Differs from the others" />
            </p>
          )}
        </div>
        <div className="flex flex-col gap-1 md:items-end">
          <QueryMeta path={last} />
          {exchanges.length > 1 && (
            <Button
              size="sm"
              variant="quiet"
              aria-expanded={isOpen}
              onClick={() => setOpen(!isOpen)}
              className="ml-4 self-start md:-mr-2.5 md:ml-0 md:self-end"
            >
              {exchanges.length} queries
              <span className="sr-only"> to {queried.name ?? queried.server}</span>
              <ChevronDown className={cx('transition-transform', isOpen && 'rotate-180')} aria-hidden="true" />
            </Button>
          )}
        </div>
      </div>
      {isOpen && (
        <ol aria-label="Queries" className="divide-y divide-line border-t border-line bg-sunken">
          {exchanges.map((path, index) => (
            <li key={index} className="grid gap-x-6 gap-y-2 px-4 py-3 md:grid-cols-[minmax(0,1fr)_auto] md:pl-72">
              <Answer path={path} />
              <QueryMeta path={path} />
            </li>
          ))}
        </ol>
      )}
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
      {path.question && (
        <p className="text-xs text-faint">
          Asked for <span className="font-mono break-all">{path.question.name || '.'}</span> {path.question.type}
        </p>
      )}
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
