import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { BellOff, BellRing, TriangleAlert } from 'lucide-react'
import type { MonitorRule } from '#contract/monitor-alert-rules.ts'
import { STATE_LABELS } from '#contract/wording.ts'
import { monitorRulesQuery } from '../../alerts/queries.ts'
import { Section, Skeleton } from '../../ui/page.tsx'
import { ProblemNote } from '../../ui/problem.tsx'

/** The rules that apply to the monitor, and why the others do not. */
export function MonitorAlertRules({ id }: { id: string }) {
  const { data: rules, error } = useQuery(monitorRulesQuery(id))
  return (
    <Section
      title="Alert rules"
      hint={
        <>
          Who is notified when this monitor fails.{' '}
          <Link to="/alerts" search={{ tab: 'rules' }} className="underline">
            Edit rules
          </Link>
        </>
      }
      isFlush
    >
      {error && !rules ? (
        <div className="p-4">
          <ProblemNote problem={error} />
        </div>
      ) : !rules ? (
        <Skeleton lines={2} className="p-4" />
      ) : rules.length === 0 ? (
        <p className="px-4 py-6 text-sm text-faint">There are no alert rules, so nobody is notified.</p>
      ) : (
        <ul className="divide-y divide-line">
          {rules.map((rule) => (
            <Rule key={rule.rule_id} rule={rule} />
          ))}
        </ul>
      )}
    </Section>
  )
}

function Rule({ rule }: { rule: MonitorRule }) {
  const Icon = rule.applies ? BellRing : BellOff
  return (
    <li className="flex gap-3 px-4 py-3 text-sm">
      <Icon className={`mt-0.5 size-4 shrink-0 ${rule.applies ? 'text-good' : 'text-faint'}`} aria-hidden="true" />
      <div className="min-w-0">
        <p className="font-medium break-words">{rule.name}</p>
        <p className="break-words text-soft">{ruleText(rule)}</p>
        {rule.also_sent_by.length > 0 && (
          <p className="mt-1 flex gap-1.5 text-warn">
            <TriangleAlert className="mt-0.5 size-3.5 shrink-0" aria-hidden="true" />
            <span>Sent twice to the same channel: also by {rule.also_sent_by.join(', ')}.</span>
          </p>
        )}
      </div>
    </li>
  )
}

const REASONS: Record<Exclude<MonitorRule['reason'], 'matches' | 'state'>, string> = {
  inactive: 'Does not apply: the rule is disabled.',
  group: 'Does not apply: it covers other groups.',
  name: 'Does not apply: it covers other names.',
  tag: 'Does not apply: it covers other tags.',
  type: 'Does not apply: it covers other record types.',
  never_valid: 'Does not apply yet: the monitor has never been valid.',
  no_channel: 'Does not apply: its channels are disabled.',
}

function ruleText({ reason, states, delay, channels }: MonitorRule): string {
  if (reason !== 'matches' && reason !== 'state') return REASONS[reason]
  const to = channels.map(({ name }) => name).join(', ')
  const when = delay === 0 ? 'at once' : `after ${delay} min`
  const labels = states.map((state) => STATE_LABELS[state as keyof typeof STATE_LABELS] ?? state)
  return `${labels.length === 0 ? 'Every failure' : labels.join(', ')}: ${when}, to ${to}.`
}
