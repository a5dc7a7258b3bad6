import { Link } from '@tanstack/react-router'
import { Eye, Plus, RotateCw } from 'lucide-react'
import type { Lookup, LookupResult } from '#contract/dashboard.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS, RECORD_TYPES } from '#contract/record-types.ts'
import { ValueText } from '../../events/value-text.tsx'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Code, Section } from '../../ui/page.tsx'
import { STATE_DISPLAY, State } from '../../ui/state.tsx'
import { type Draft, proposedDraft } from './expectation.ts'
import { ExpectationFields } from './expectation-fields.tsx'

export type LookupAgain = { isBusy: boolean; run: () => void }

type LiveRecordsProps = {
  lookup: Lookup
  lookupAgain: LookupAgain
  drafts: readonly Draft[]
  onChange: (drafts: Draft[]) => void
  /** Ids of the existing monitors of this name, by type. */
  existingMonitors: ReadonlyMap<MonitorRecordType, string>
  /** The error of a draft, by its type and a path in it. */
  errorAt: (type: MonitorRecordType, path: string) => string | undefined
}

/** Live records by type, with a checkbox for each. */
export function LiveRecords({ lookup, lookupAgain, drafts, onChange, existingMonitors, errorAt }: LiveRecordsProps) {
  const draftFor = (found: LookupResult) => drafts.find(({ type }) => type === found.record_type)
  const select = (found: LookupResult) => onChange([...drafts, proposedDraft(found)])
  const isFound = (type: MonitorRecordType) => lookup.found.some(({ record_type }) => record_type === type)
  const deselect = (found: LookupResult) => onChange(drafts.filter(({ type }) => type !== found.record_type))
  const change = (draft: Draft) => onChange(drafts.map((other) => (other.type === draft.type ? draft : other)))
  const isShown = (found: LookupResult) => found.values.length > 0 || isFailure(found) || draftFor(found) !== undefined
  const shown = [
    ...lookup.found.filter(isShown),
    ...drafts.flatMap(({ type }) => (isFound(type) ? [] : notLookedUp(type))),
  ]
  const missing = lookup.found.filter((found) => !isShown(found))
  const others = RECORD_TYPES.filter((type) => !isFound(type) && !drafts.some((draft) => draft.type === type))
  return (
    <Section
      title="Live records"
      hint={
        <>
          For <Code className="text-soft">{lookup.full_domain}</Code>. Select the records to monitor. Their values
          become the expected values.
        </>
      }
      actions={
        <Button size="sm" variant="quiet" isBusy={lookupAgain.isBusy} onClick={lookupAgain.run}>
          <RotateCw /> Look up again
        </Button>
      }
      isFlush
    >
      <ul className="divide-y divide-line">
        {shown.map((found) => {
          const draft = draftFor(found)
          return (
            <li key={found.record_type} className="px-4 py-3">
              <LiveRecord
                found={found}
                isSelected={draft !== undefined}
                existingMonitor={existingMonitors.get(found.record_type)}
                onToggle={() => (draft ? deselect(found) : select(found))}
              />
              {draft && (
                <div className="mt-3 border-l-2 border-accent pl-4 sm:ml-[7px] sm:pl-5">
                  <ExpectationFields
                    draft={draft}
                    found={found}
                    onChange={change}
                    errorAt={(path) => errorAt(found.record_type, path)}
                  />
                </div>
              )}
            </li>
          )
        })}
      </ul>
      {missing.length > 0 && (
        <MissingTypes found={missing} isAll={shown.length === 0} name={lookup.full_domain} onSelect={select} />
      )}
      {others.length > 0 && <OtherTypes types={others} onSelect={(type) => select(notLookedUp(type))} />}
    </Section>
  )
}

/** A type that was not looked up. */
function notLookedUp(type: MonitorRecordType): LookupResult {
  return {
    record_type: type,
    outcome: 'UNSET',
    values: [],
    expected_value: [],
    is_exact_match: true,
    sentence: '',
    milliseconds: 0,
  }
}

/** The lookup failed, so it is unknown whether there are records. */
const isFailure = ({ outcome }: LookupResult) =>
  outcome === 'TIMEOUT' || outcome === 'INVALID' || outcome === 'BAD_SETUP'

type LineProps = { found: LookupResult; isSelected: boolean; existingMonitor: string | undefined; onToggle: () => void }

function LiveRecord({ found, isSelected, existingMonitor, onToggle }: LineProps) {
  const { record_type: type, values, outcome, sentence } = found
  return (
    <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-4 gap-y-1 sm:grid-cols-[5.5rem_minmax(0,1fr)_auto]">
      <Checkbox
        label={
          <>
            <span className="sr-only">Monitor </span>
            <span className="font-mono font-medium">{type}</span>
          </>
        }
        isChecked={isSelected}
        onChange={onToggle}
      />
      <div className="col-span-2 row-start-2 min-w-0 sm:col-span-1 sm:row-start-auto">
        {values.length === 0 ? (
          <span className="text-soft">
            {isFailure(found) && (
              <span className="mr-2">
                <State state={outcome} />
              </span>
            )}
            {isFailure(found) ? sentence : outcome === 'UNSET' ? 'Not looked up.' : 'No records.'}
          </span>
        ) : (
          <ul>
            {values.map((value) => (
              <li key={value}>
                <span className="font-mono text-[0.95em]">
                  <ValueText value={value} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
      {existingMonitor && (
        <Link
          to="/monitors/$monitor"
          params={{ monitor: existingMonitor }}
          className="col-start-2 row-start-1 inline-flex items-center gap-1.5 rounded-sm text-xs text-accent-ink hover:underline sm:col-start-3"
        >
          <Eye className="size-3.5" aria-hidden="true" /> Already monitored
        </Link>
      )}
    </div>
  )
}

type MissingTypesProps = {
  found: readonly LookupResult[]
  isAll: boolean
  name: string
  onSelect: (found: LookupResult) => void
}

/** Types without records, to monitor before they are created. */
function MissingTypes({ found, isAll, name, onSelect }: MissingTypesProps) {
  const isMissing = isAll && found.every(({ outcome }) => outcome === 'NOT_FOUND')
  return (
    <div className="flex flex-wrap items-center gap-x-2 gap-y-2 border-t border-line px-4 py-3 first:border-t-0">
      <p className="basis-full text-xs text-faint">
        {isMissing ? (
          <>
            <Code className="text-soft">{name}</Code> does not exist yet. Monitor it for a record you plan to create:
          </>
        ) : (
          'No records of these types. Monitor one that you plan to create:'
        )}
      </p>
      {found.map((record) => (
        <TypeButton
          key={record.record_type}
          type={record.record_type}
          title={`${RECORD_TYPE_TEXTS[record.record_type].holds}. Now: ${STATE_DISPLAY[record.outcome].label}.`}
          onPress={() => onSelect(record)}
        />
      ))}
    </div>
  )
}

type OtherTypesProps = { types: readonly MonitorRecordType[]; onSelect: (type: MonitorRecordType) => void }

function OtherTypes({ types, onSelect }: OtherTypesProps) {
  return (
    <details className="border-t border-line px-4 py-3">
      <summary className="cursor-pointer text-xs text-faint">Other record types</summary>
      <div className="mt-2 flex flex-wrap gap-2">
        {types.map((type) => (
          <TypeButton
            key={type}
            type={type}
            title={`${RECORD_TYPE_TEXTS[type].holds}.`}
            onPress={() => onSelect(type)}
          />
        ))}
      </div>
    </details>
  )
}

type TypeButtonProps = { type: MonitorRecordType; title: string; onPress: () => void }

function TypeButton({ type, title, onPress }: TypeButtonProps) {
  return (
    <Button size="sm" title={title} aria-label={`Monitor ${type}: ${RECORD_TYPE_TEXTS[type].holds}`} onClick={onPress}>
      <Plus /> <span className="font-mono">{type}</span>
    </Button>
  )
}
