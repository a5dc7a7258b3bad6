import { expect, test } from 'vitest'
import { changedPart, type Fields, rebase, sameSet, wholeOf } from './rebase.ts'

type Form = { name: string; values: string[]; minutes: string }
const fields = {
  name: { label: 'Name', text: String },
  values: { label: 'Values', text: String, same: sameSet },
  minutes: { label: 'Minutes', text: String },
}
const base: Form = { name: 'www', values: ['a', 'b'], minutes: '5' }
const rebased = (mine: Partial<Form>, theirs: Partial<Form>) =>
  rebase<Form>(fields, { base, mine: { ...base, ...mine }, theirs: { ...base, ...theirs } })

test('changes of only one user are merged', () => {
  expect(rebased({ minutes: '30' }, { values: ['c'] })).toEqual({
    form: { name: 'www', values: ['c'], minutes: '30' },
    conflicts: [],
    taken: ['values'],
  })
})

test('a field that both users changed is a conflict, and the form keeps its value', () => {
  expect(rebased({ values: ['mine'] }, { values: ['theirs'], name: 'shop' })).toEqual({
    form: { name: 'shop', values: ['mine'], minutes: '5' },
    conflicts: ['values'],
    taken: ['name'],
  })
})

test('the same change by both users and another order of a list are no conflict', () => {
  expect(rebased({ minutes: '10', values: ['b', 'a'] }, { minutes: '10' })).toMatchObject({ conflicts: [], taken: [] })
})

test('only changed fields are sent, as the resource has them, and those of one object together', () => {
  const inSettings: Fields<Form> = {
    ...fields,
    values: { ...fields.values, change: ({ values }) => ({ settings: { values } }) },
    minutes: { ...fields.minutes, change: ({ minutes }) => ({ settings: { minutes: Number(minutes) } }) },
  }
  expect(changedPart(inSettings, base, { ...base, values: ['b', 'a'] })).toEqual({})
  expect(changedPart(inSettings, base, { ...base, name: 'shop', minutes: '30' })).toEqual({
    name: 'shop',
    settings: { minutes: 30 },
  })
  const settings = { values: ['a', 'b'], minutes: 5 }
  expect(wholeOf(inSettings, base)).toEqual({ name: 'www', settings })
})
