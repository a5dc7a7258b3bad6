import { readFileSync, writeFileSync } from 'node:fs'
import { ADVICE } from '#contract/advice.ts'
import { CAUSES } from '#contract/causes.ts'
import { DNSSEC_CAUSES } from '#contract/dnssec.ts'
import { ERROR_CODES } from '#contract/error-codes.ts'
import { FIELD_ERRORS } from '#contract/field-errors.ts'
import { IMPORT_CODES } from '#contract/import-codes.ts'
import { JOB_CODES } from '#contract/job-codes.ts'
import { CONFIRMATION_REASONS, VERDICT_REASONS } from '#contract/reasons.ts'
import { WARNINGS } from '#contract/warnings.ts'
import { ZONE_CHECKS } from '#server/zones/checks.ts'

const DOCUMENT = 'docs/reference/reason-codes.md'
const ZONES = 'docs/reference/zones.md'

/** The tables of the document, by the name in the comment before each. */
export function codeTables(): Record<string, string> {
  return {
    verdicts: reasonTable(VERDICT_REASONS),
    confirmations: reasonTable(CONFIRMATION_REASONS),
    errors: codeTable(ERROR_CODES),
    advice: paramsTable(
      Object.fromEntries(Object.entries(ADVICE).map(([code, { title, params }]) => [code, { about: title, params }])),
    ),
    warnings: paramsTable(
      Object.fromEntries(
        Object.entries(WARNINGS).map(([code, { about, params }]) => [code, { about, params: Object.keys(params) }]),
      ),
    ),
    dnssec: paramsTable(DNSSEC_CAUSES),
    fields: paramsTable(FIELD_ERRORS),
    causes: paramsTable(CAUSES),
    jobs: codeTable(JOB_CODES),
    imports: codeTable(IMPORT_CODES),
  }
}

/** The table of the findings about zones. */
export function zoneTables(): Record<string, string> {
  const rows = Object.values(ZONE_CHECKS).map(({ code, level, about, params }) => {
    const names = Object.keys(params).map((name) => `\`${name}\``)
    return `| \`${code}\` | ${level} | ${about} | ${names.join(', ')} |`
  })
  return { findings: ['| Code | Level | Meaning | Parameters |', '|---|---|---|---|', ...rows, ''].join('\n') }
}

type Catalogue = Record<string, { about: string; params: { properties: object } }>

function reasonTable(catalogue: Catalogue): string {
  const rows = Object.entries(catalogue).map(([code, { about, params }]) => {
    const names = Object.keys(params.properties).filter((name) => name !== 'truncated')
    return `| \`${code}\` | ${about} | ${names.map((name) => `\`${name}\``).join(', ')} |`
  })
  return ['| Code | Meaning | Parameters |', '|---|---|---|', ...rows, ''].join('\n')
}

function codeTable(codes: Record<string, string>): string {
  const rows = Object.entries(codes).map(([code, about]) => `| \`${code}\` | ${about} |`)
  return ['| Code | Meaning |', '|---|---|', ...rows, ''].join('\n')
}

function paramsTable(codes: Record<string, { about: string; params: readonly string[] }>): string {
  const rows = Object.entries(codes).map(([code, { about, params }]) => {
    return `| \`${code}\` | ${about} | ${params.map((name) => `\`${name}\``).join(', ')} |`
  })
  return ['| Code | Meaning | Parameters |', '|---|---|---|', ...rows, ''].join('\n')
}

/** Replaces the tables of the document. */
export function withTables(document: string, tables: Record<string, string>): string {
  return document.replace(/<!-- (\w+):.*-->\n[\s\S]*?<!-- end -->/g, (part, name: string) => {
    const begin = part.slice(0, part.indexOf('\n') + 1)
    return `${begin}${tables[name] ?? ''}<!-- end -->`
  })
}

/** The generated documents, with the tables of each. */
export const generatedDocuments = () => ({ [DOCUMENT]: codeTables(), [ZONES]: zoneTables() })

if (import.meta.main)
  for (const [document, tables] of Object.entries(generatedDocuments()))
    writeFileSync(document, withTables(readFileSync(document, 'utf8'), tables))
