/** A table in a statement. `alias`: its name, if it has no other there. */
export type TableUse = { table: string; alias: string; namesOrganization: boolean }

/**
 * The uses of these tables in a statement, and whether each is restricted to an organization: by a condition on its own
 * `organization_id`, also as a side of a join, or by inserting it. Reads only as much of SQL as our statements use.
 */
export function tableUses(statement: string, tables: readonly string[]): TableUse[] {
  return scopesOf(statement.replaceAll('"', '').replaceAll(/\s+/g, ' ')).flatMap((scope) => usesIn(scope, tables))
}

const NESTED = /^\s*(?:select|with|insert|update|delete)\b/i

/** One select, insert, update or delete each, without those nested in it. */
function scopesOf(statement: string): string[] {
  const scopes: string[] = []
  const open: { text: string; isScope: boolean }[] = [{ text: '', isScope: true }]
  const close = () => {
    const { text, isScope } = open.pop()!
    if (isScope) scopes.push(...text.split(/\b(?:union all|union|except|intersect)\b/i))
    if (open.length > 0) open.at(-1)!.text += isScope ? ' nested ' : `(${text})`
  }
  for (let at = 0; at < statement.length; at++) {
    const character = statement[at]!
    if (character === '(') open.push({ text: '', isScope: NESTED.test(statement.slice(at + 1)) })
    else if (character === ')') close()
    else open.at(-1)!.text += character
  }
  close()
  return scopes
}

const AFTER_TABLE = new Set(
  'where on set order group left right inner outer full cross join limit indexed using returning values select for'.split(
    ' ',
  ),
)

function usesIn(scope: string, tables: readonly string[]): TableUse[] {
  const name = `(${tables.join('|')})`
  const uses = [...scope.matchAll(new RegExp(`\\b(from|join|into|update|using) ${name}\\b(?: as)?(?= (\\w+)|)`, 'gi'))]
  const read = uses.filter(([, keyword]) => keyword!.toLowerCase() !== 'into')
  const conditions = conditionsIn(scope)
  return uses.map(([, keyword, table, after]) => {
    const alias = after === undefined || AFTER_TABLE.has(after.toLowerCase()) ? table! : after
    if (keyword!.toLowerCase() === 'into') {
      const isInserted = new RegExp(`\\binto ${table} ?\\([^)]*\\borganization_id\\b`, 'i').test(scope)
      return { table: table!, alias, namesOrganization: isInserted }
    }
    const isQualified = new RegExp(`\\b${alias}\\.organization_id\\b(?! ?[<>])`, 'i').test(conditions)
    // Beside another table of tenants, the name of the column alone would be ambiguous.
    const isUnqualified = read.length === 1 && /(?<![.\w])organization_id\b(?! ?[<>])/i.test(conditions)
    return { table: table!, alias, namesOrganization: isQualified || isUnqualified }
  })
}

/** What stands after `on`, `where` and `having`, each up to the next clause. */
function conditionsIn(scope: string): string {
  const clauses = scope.split(
    /\b(on(?! conflict)|where|having|(?:left |inner |cross )?join|group by|order by|limit|returning|do update|do nothing|for )\b/i,
  )
  const isCondition = (at: number) => /^(?:on|where|having)$/i.test(clauses[at - 1] ?? '')
  return clauses.filter((_, at) => isCondition(at)).join(' ; ')
}
