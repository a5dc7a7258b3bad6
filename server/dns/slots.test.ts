import { expect, test } from 'vitest'
import { Busy } from './busy.ts'
import { createSlots } from './slots.ts'

test('no more than the limit are under way, and the others come in their order', async () => {
  const slots = createSlots(2, 10)
  const admitted: number[] = []
  const all = [0, 1, 2, 3, 4].map(async (number) => {
    await slots.acquire(undefined)
    admitted.push(number)
  })
  await all[1]
  expect(admitted).toEqual([0, 1])
  slots.release()
  await all[2]
  expect(admitted).toEqual([0, 1, 2])
  slots.release()
  slots.release()
  await all[4]
  expect(admitted).toEqual([0, 1, 2, 3, 4])
  expect(slots.isIdle()).toBe(false)
  slots.release()
  slots.release()
  expect(slots.isIdle()).toBe(true)
})

test('who gives up takes no place', async () => {
  const slots = createSlots(1, 10)
  await slots.acquire(undefined)
  const leaving = new AbortController()
  const left = slots.acquire(leaving.signal)
  const stayed = slots.acquire(undefined)
  leaving.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  slots.release()
  await stayed
  slots.release()
  expect(slots.isIdle()).toBe(true)
})

test('who steps aside makes room for the next, and not more than a bound may', async () => {
  const slots = createSlots(1, 10, 1)
  await slots.acquire(undefined)
  const [second, third] = [slots.acquire(undefined), slots.acquire(undefined)]
  expect(slots.stepAside()).toBe(true)
  await second
  expect(slots.stepAside()).toBe(false)
  slots.release(true)
  expect(slots.stepAside()).toBe(true)
  await third
  slots.release(true)
  expect(slots.isIdle()).toBe(false)
  slots.release()
  expect(slots.isIdle()).toBe(true)
})

test('a full queue refuses', async () => {
  const slots = createSlots(1, 1)
  await slots.acquire(undefined)
  void slots.acquire(undefined)
  expect(() => slots.acquire(undefined)).toThrow(Busy)
})

test('closing refuses those that wait and those that come later', async () => {
  const slots = createSlots(1, 10)
  await slots.acquire(undefined)
  const waiting = slots.acquire(undefined)
  slots.close(new Error('closed'))
  await expect(waiting).rejects.toThrow('closed')
  await expect(slots.acquire(undefined)).rejects.toThrow('closed')
})
