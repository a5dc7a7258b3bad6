import { expect, test } from 'vitest'
import { rebase, sameSet } from './rebase.ts'

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
