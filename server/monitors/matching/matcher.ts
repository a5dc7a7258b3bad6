import type { MonitorRecordType } from '#contract/monitors.ts'
import type { AliasChain, Outcome, QuestionType } from '../../dns/outcome.ts'
import { a } from './a.ts'
import { aaaa } from './aaaa.ts'
import { caa } from './caa.ts'
import { cname } from './cname.ts'
import type { Difference } from './compare.ts'
import { mx } from './mx.ts'
import { ns } from './ns.ts'
import { ptr } from './ptr.ts'
import { spf } from './spf.ts'
import { txt } from './txt.ts'

export type Answer = Extract<Outcome, { kind: 'answer' }>

/** `value` is what is stored and compared. `reason` is one sentence: what is wrong and what is allowed. */
export type ParsedValue = { ok: true; value: string } | { ok: false; reason: string }

/** All that is particular to one record type. Every function is pure. */
export type Matcher = {
  questionType: QuestionType
  /** A name has at most one such record, so that in exact mode only one value can ever match. */
  isSingle?: true
  /** One expected value as a person writes it. Given its own `value` again it returns the same. */
  parseExpected(text: string, isExactMatch: boolean): ParsedValue
  /** The values that a monitor shows, sorted, without duplicates; empty when the answer holds none of the type. */
  observe(answer: Answer): string[]
  /** `expected` comes from `parseExpected`, `observed` from `observe`, `chain` from the same answer. */
  difference(
    expected: readonly string[],
    observed: readonly string[],
    isExactMatch: boolean,
    chain: AliasChain,
  ): Difference
}

const MATCHERS: { readonly [T in MonitorRecordType]: Matcher } = {
  A: a,
  AAAA: aaaa,
  CNAME: cname,
  MX: mx,
  TXT: txt,
  NS: ns,
  PTR: ptr,
  SPF: spf,
  CAA: caa,
}

export function matcherFor(recordType: MonitorRecordType): Matcher {
  return MATCHERS[recordType]
}
