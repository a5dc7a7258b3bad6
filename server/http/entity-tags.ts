import { hash } from 'node:crypto'

/**
 * The tag of one representation: what a PATCH can change, then all of it, then the query that it was asked with.
 * `If-None-Match` compares all. `If-Match` asks whether somebody changed what a PATCH can change: a check that finished
 * meanwhile (`state`, `last_checked`) is no reason to refuse a change.
 */
export function entityTagOf(payload: string, changeable: ReadonlySet<string> | undefined, query: string): string {
  const tail = query === '' ? '' : `.${Buffer.from(query).toString('base64url')}`
  return `"${digest(changeablePart(payload, changeable))}.${digest(payload)}${tail}"`
}

/** Whether an `If-None-Match` names this tag; weak comparison, RFC 9110 section 13.1.2. */
export function namesTag(header: string, tag: string): boolean {
  return header.trim() === '*' || listOf(header).some((each) => each.replace(/^W\//, '') === tag)
}

export type Condition = { query: string; isMet(tag: string): boolean }

/** What an `If-Match` asks for; strong comparison, RFC 9110 section 13.1.1. One query for each kind of representation. */
export function conditionsOf(header: string): Condition[] {
  if (header.trim() === '*') return [{ query: '', isMet: () => true }]
  const asked = new Map<string, string[]>()
  for (const each of listOf(header).slice(0, MOST_TAGS)) {
    const [, changeable, encoded = ''] = SHAPE.exec(each) ?? []
    const query = Buffer.from(encoded, 'base64url').toString()
    if (changeable !== undefined) asked.set(query, [...(asked.get(query) ?? []), changeable])
  }
  return [...asked].map(([query, tags]) => ({
    query,
    isMet: (tag) => tags.some((changeable) => tag.startsWith(`"${changeable}.`)),
  }))
}

/** More than anybody has; each kind of representation among them costs a look. */
const MOST_TAGS = 8

const SHAPE = /^"([\w-]{16})\.[\w-]{16}(?:\.([\w-]{1,700}))?"$/

const listOf = (header: string) => header.split(',').map((each) => each.trim())

const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)

function changeablePart(payload: string, changeable: ReadonlySet<string> | undefined): string {
  if (!changeable) return payload
  const fields = Object.entries(JSON.parse(payload) as Record<string, unknown>)
  return JSON.stringify(fields.filter(([name]) => changeable.has(name)))
}
