import { expect, test } from 'vitest'
import { differenceOf, MAX_ROWS, type Snapshot } from './snapshot.ts'

const snapshot = (given: Partial<Record<keyof Snapshot, [string, number][]>>): Snapshot => ({
  events: new Map(given.events),
  sent: new Map(given.sent),
  people: new Map(given.people),
})

test('without a change nothing is sent', () => {
  const same = snapshot({ events: [['a', 1]], sent: [['w', 1]], people: [['groups', 1]] })
  expect(differenceOf(same, same)).toEqual({ lists: [], events: [] })
})

test('each kind of change names its lists', () => {
  const before = snapshot({ events: [['a', 1]], people: [['groups', 1]] })
  expect(
    differenceOf(
      before,
      snapshot({
        events: [
          ['b', 2],
          ['a', 1],
        ],
        people: [['groups', 1]],
      }),
    ),
  ).toEqual({
    lists: ['events', 'monitors', 'requests'],
    events: ['b'],
  })
  expect(differenceOf(before, { ...before, sent: new Map([['w', 5]]) }).lists).toEqual(['webhooks', 'requests'])
  expect(differenceOf(before, { ...before, people: new Map([['groups', 2]]) }).lists).toEqual(['groups'])
})

test('an event that is written late is sent, one that takes the place of a removed one is not', () => {
  const full = Array.from({ length: MAX_ROWS }, (_, at): [string, number] => [`e${at}`, 1_000 - at])
  const late = snapshot({ events: [...full.slice(0, 50), ['late', 960], ...full.slice(50, 99)] })
  expect(differenceOf(snapshot({ events: full }), late).events).toEqual(['late'])
  const removed = snapshot({ events: [...full.slice(1), ['old', 1]] })
  expect(differenceOf(snapshot({ events: full }), removed).events).toEqual([])
})
