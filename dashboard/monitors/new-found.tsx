import { Link } from '@tanstack/react-router'
import { Eye, Plus, RotateCw } from 'lucide-react'
import type { Found, Lookup } from '#contract/dashboard.ts'
import { type MonitorRecordType, RECORD_TYPE_TEXTS, RECORD_TYPES } from '#contract/record-types.ts'
import { ValueText } from '../events/value-text.tsx'
import { Button } from '../ui/button.tsx'
import { Checkbox } from '../ui/field.tsx'
import { Code, Section } from '../ui/page.tsx'
import { STATE_DISPLAY, State } from '../ui/state.tsx'
import { type Draft, draftOf } from './new-expectation.ts'
import { ExpectationFields } from './new-expectation-fields.tsx'

/** To ask the DNS once more: it may have been changed meanwhile. */
export type Again = { isBusy: boolean; press: () => void }

type FoundProps = {
  lookup: Lookup
  again: Again
  drafts: readonly Draft[]
  onChange: (drafts: Draft[]) => void
  /** The monitors of this name that are there already, by type. */
  watched: ReadonlyMap<MonitorRecordType, string>
  /** The server's sentence against a draft, by its type and a path below it. */
  errorAt: (type: MonitorRecordType, path: string) => string | undefined
}

/** Live records, type by type; each one may be chosen as what it should be. */
export function FoundRecords({ lookup, again, drafts, onChange, watched, errorAt }: FoundProps) {
  const drafted = (found: Found) => drafts.find(({ type }) => type === found.record_type)
  const choose = (found: Found) => onChange([...drafts, draftOf(found)])
  const isFound = (type: MonitorRecordType) => lookup.found.some(({ record_type }) => record_type === type)
  const drop = (found: Found) => onChange(drafts.filter(({ type }) => type !== found.record_type))
  const change = (draft: Draft) => onChange(drafts.map((each) => (each.type === draft.type ? draft : each)))
  const isShown = (found: Found) => found.values.length > 0 || isFailure(found) || drafted(found) !== undefined
  const shown = [
    ...lookup.found.filter(isShown),
    ...drafts.flatMap(({ type }) => (isFound(type) ? [] : notLookedUp(type))),
  ]
  const absent = lookup.found.filter((found) => !isShown(found))
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
        <Button size="sm" variant="quiet" isBusy={again.isBusy} onClick={again.press}>
          <RotateCw /> Look up again
        </Button>
      }
      isFlush
    >
      <ul className="divide-y divide-line">
        {shown.map((found) => {
          const draft = drafted(found)
          return (
            <li key={found.record_type} className="px-4 py-3">
              <FoundLine
                found={found}
                isSelected={draft !== undefined}
                watchedBy={watched.get(found.record_type)}
                onToggle={() => (draft ? drop(found) : choose(found))}
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
      {absent.length > 0 && (
        <Absent found={absent} isAll={shown.length === 0} name={lookup.full_domain} onChoose={choose} />
      )}
      {others.length > 0 && <OtherTypes types={others} onChoose={(type) => choose(notLookedUp(type))} />}
    </Section>
  )
}

/** A type that such a name seldom has. */
function notLookedUp(type: MonitorRecordType): Found {
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

/** Nothing was learned of it: that is not the same as that there is nothing. */
const isFailure = ({ outcome }: Found) => outcome === 'TIMEOUT' || outcome === 'INVALID' || outcome === 'BAD_SETUP'

type LineProps = { found: Found; isSelected: boolean; watchedBy: string | undefined; onToggle: () => void }

function FoundLine({ found, isSelected, watchedBy, onToggle }: LineProps) {
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
            {isFailure(found) ? sentence : outcome === 'UNSET' ? 'Lookup skipped.' : 'No records.'}
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
      {watchedBy && (
        <Link
          to="/monitors/$monitor"
          params={{ monitor: watchedBy }}
          className="col-start-2 row-start-1 inline-flex items-center gap-1.5 rounded-sm text-xs text-accent-ink hover:underline sm:col-start-3"
        >
          <Eye className="size-3.5" aria-hidden="true" /> Already monitored
        </Link>
      )}
    </div>
  )
}

type AbsentProps = { found: readonly Found[]; isAll: boolean; name: string; onChoose: (found: Found) => void }

/** The main case of onboarding: what shall be set up still. */
function Absent({ found, isAll, name, onChoose }: AbsentProps) {
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
      {found.map((each) => (
        <TypeButton
          key={each.record_type}
          type={each.record_type}
          title={`${RECORD_TYPE_TEXTS[each.record_type].holds}. Now: ${STATE_DISPLAY[each.outcome].label}.`}
          onPress={() => onChoose(each)}
        />
      ))}
    </div>
  )
}

type OtherTypesProps = { types: readonly MonitorRecordType[]; onChoose: (type: MonitorRecordType) => void }

function OtherTypes({ types, onChoose }: OtherTypesProps) {
  return (
    <details className="border-t border-line px-4 py-3">
      <summary className="cursor-pointer text-xs text-faint">Other record types</summary>
      <div className="mt-2 flex flex-wrap gap-2">
        {types.map((type) => (
          <TypeButton
            key={type}
            type={type}
            title={`${RECORD_TYPE_TEXTS[type].holds}.`}
            onPress={() => onChoose(type)}
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
