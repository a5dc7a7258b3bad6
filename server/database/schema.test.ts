import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { readSchema } from './table-schema.ts'

type Declared = Record<string, string>

/** The members of each type in the files of the schema, with their types. */
function declaredTypes(): Map<string, Declared> {
  const types = new Map<string, Declared>()
  for (const path of globSync('server/database/schema*.ts', { exclude: (path) => path.endsWith('.test.ts') })) {
    let members: Declared = {}
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const [, name] = /^(?:export )?type (\w+) = \{$/.exec(line) ?? []
      const [, member, type] = /^ {2}(\w+): (.+)$/.exec(line) ?? []
      const [, other] = /^\} & (\w+)$/.exec(line) ?? []
      if (name) {
        members = {}
        types.set(name, members)
      }
      if (member) members[member] = type!
      if (other) members['&'] = other
    }
  }
  return types
}

const storedTypeOf = (type: string) =>
  /\bBuffer\b/.test(type) ? 'bytea' : /\b(?:number|Bool)\b/.test(type) ? 'bigint' : 'text'

function columnsOf(types: ReturnType<typeof declaredTypes>, name: string): Declared {
  const { '&': other, ...members } = types.get(name)!
  const columns = Object.entries(members).map(([column, type]) => [column, storedTypeOf(type)])
  return { ...Object.fromEntries(columns), ...(other && columnsOf(types, other)) }
}

onBothEngines('the types of the tables', (fresh) => {
  test('have the columns of the database, and no others', async () => {
    const types = declaredTypes()
    const schema = await readSchema(await fresh())
    const tables = types.get('Tables')!
    for (const { name, columns } of schema) {
      // Its columns are also a type of the contract.
      if (name === 'billing_details') continue
      expect([name, columnsOf(types, tables[name]!.replace(/^\w+\./, ''))]).toEqual([name, columns])
    }
    expect(Object.keys(tables).sort()).toEqual([...schema.map(({ name }) => name), 'monitor_texts'].sort())
  })
})
