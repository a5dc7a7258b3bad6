import { CircleCheck, ExternalLink, Hourglass, Link2Off } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import type { PublicPage, PublicRecord } from '#contract/setup-pages.ts'
import { visible } from '#contract/visible-text.ts'
import { Spinner } from '../ui/spinner.tsx'
import { headingOf } from './heading.ts'
import { RecordCard } from './record.tsx'
import { usePublicPage } from './use-public-page.ts'

/** The public page for customers: which records to create and where, and whether they are found. */
export function PublicSetupPage({ statePath }: { statePath: string }) {
  const state = usePublicPage(statePath)
  useEffect(() => {
    if (state.kind === 'page') document.title = `${headingOf(state.page)} · ${visible(state.page.organization)}`
  }, [state])
  switch (state.kind) {
    case 'loading':
      return (
        <Frame>
          <p className="late flex justify-center py-20 text-faint">
            <Spinner label="Loading" />
          </p>
        </Frame>
      )
    case 'gone':
      return (
        <Note title="This link is not valid">
          It has expired, or was replaced or revoked. Ask the sender for a new link.
        </Note>
      )
    case 'failed':
      return (
        <Note title="The page could not be loaded">Check your connection. The page tries again automatically.</Note>
      )
    case 'page':
      return <SetupPage page={state.page} isStale={state.isStale} />
  }
}

function SetupPage({ page, isStale }: { page: PublicPage; isStale: boolean }) {
  const { logo, records, ttl, is_done } = page
  const organization = visible(page.organization)
  const providers = [...Map.groupBy(records, ({ zone }) => zone).values()].map(([first]) => first!)
  return (
    <Frame>
      <header>
        {logo && <img src={logo} alt="" className="mb-3 max-h-12 max-w-48 rounded dark:bg-white dark:p-1.5" />}
        <p className="text-sm font-medium text-soft">{organization}</p>
        <h1 className="mt-1 text-xl font-semibold tracking-tight break-words">{headingOf(page)}</h1>
        {!is_done && (
          <p className="mt-1 text-base text-soft">
            {organization} asks you to create {records.length === 1 ? 'this DNS record' : 'these DNS records'}.
          </p>
        )}
      </header>
      <Status page={page} isStale={isStale} />
      {!is_done && providers.map((record) => <Steps key={record.zone} record={record} />)}
      {records.map((record) => (
        <RecordCard key={`${record.name} ${record.type}`} record={record} ttl={ttl} />
      ))}
      <p className="text-center text-xs text-faint">Checked by Zonewatch. This page updates automatically.</p>
    </Frame>
  )
}

function Status({ page, isStale }: { page: PublicPage; isStale: boolean }) {
  const { records, is_done } = page
  const organization = visible(page.organization)
  const missing = records.filter(({ state }) => state !== 'valid').length
  const hasTimedOut = records.some(({ state }) => state === 'timed_out')
  return (
    <div
      role="status"
      className={`flex items-start gap-3 rounded-lg border px-4 py-3 text-sm ${
        is_done ? 'border-transparent bg-good-wash text-good' : 'border-line bg-sunken text-soft'
      }`}
    >
      {is_done ? (
        <CircleCheck className="mt-0.5 size-5 shrink-0" aria-hidden="true" />
      ) : (
        <Hourglass className="mt-0.5 size-5 shrink-0" aria-hidden="true" />
      )}
      <div>
        <p className="font-medium">
          {is_done
            ? 'Everything is connected'
            : records.length === 1
              ? 'Waiting for your record'
              : `Waiting for ${missing} of ${records.length} records`}
        </p>
        <p>
          {is_done
            ? `You can close this page. ${organization} has been notified.`
            : hasTimedOut
              ? `${organization} stopped waiting after three days. Create the record, then let them know.`
              : isStale
                ? 'The connection is interrupted. The page tries again automatically.'
                : 'You can close this page and come back later.'}
        </p>
      </div>
    </div>
  )
}

/** Instructions for the DNS provider of the zone. */
function Steps({ record: { provider, zone } }: { record: PublicRecord }) {
  const steps = provider?.steps ?? [
    `Sign in where the DNS records of ${zone} are managed. Often that is where you bought the domain.`,
    'Add the record below. If your provider does not add the domain to the name automatically, enter the full name.',
    'Save. This page updates automatically when the record is found. With most providers this takes less than 15 minutes.',
  ]
  return (
    <section className="rounded-lg border border-line bg-surface p-4">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">
          {provider ? `${zone} uses ${provider.name}` : `How to change the DNS of ${zone}`}
        </h2>
        {provider && (
          <a
            href={provider.url}
            target="_blank"
            rel="noopener noreferrer"
            className="inline-flex h-9 items-center gap-2 rounded-md border border-line px-3.5 text-sm font-medium hover:bg-sunken"
          >
            Open {provider.name} <ExternalLink className="size-4" aria-hidden="true" />
          </a>
        )}
      </div>
      <ol className="mt-2 flex list-decimal flex-col gap-1.5 pl-5 text-sm text-soft">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </section>
  )
}

function Note({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Frame>
      <div className="py-16 text-center">
        <Link2Off className="mx-auto size-8 text-faint" aria-hidden="true" />
        <h1 className="mt-4 text-xl font-semibold tracking-tight">{title}</h1>
        <p className="mt-1 text-base text-soft">{children}</p>
      </div>
    </Frame>
  )
}

const Frame = ({ children }: { children: ReactNode }) => (
  <main className="mx-auto flex w-full max-w-2xl flex-col gap-4 px-4 py-8 sm:py-12">{children}</main>
)
