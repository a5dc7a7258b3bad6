import { expect, test } from 'vitest'
import { createSemaphore, OverloadError } from './semaphore.ts'

test('no more than the limit are in progress, and the others come in their order', async () => {
  const semaphore = createSemaphore(2, 10)
  const admitted: number[] = []
  const all = [0, 1, 2, 3, 4].map(async (number) => {
    await semaphore.acquire(undefined)
    admitted.push(number)
  })
  await all[1]
  expect(admitted).toEqual([0, 1])
  semaphore.release()
  await all[2]
  expect(admitted).toEqual([0, 1, 2])
  semaphore.release()
  semaphore.release()
  await all[4]
  expect(admitted).toEqual([0, 1, 2, 3, 4])
  expect(semaphore.isIdle()).toBe(false)
  semaphore.release()
  semaphore.release()
  expect(semaphore.isIdle()).toBe(true)
})

test('who gives up takes no place', async () => {
  const semaphore = createSemaphore(1, 10)
  await semaphore.acquire(undefined)
  const leaving = new AbortController()
  const left = semaphore.acquire(leaving.signal)
  const stayed = semaphore.acquire(undefined)
  leaving.abort(new Error('enough'))
  await expect(left).rejects.toThrow('enough')
  semaphore.release()
  await stayed
  semaphore.release()
  expect(semaphore.isIdle()).toBe(true)
})

test('a slot that is given up goes to the next, and only so many may be given up', async () => {
  const semaphore = createSemaphore(1, 10, 1)
  await semaphore.acquire(undefined)
  const [second, third] = [semaphore.acquire(undefined), semaphore.acquire(undefined)]
  expect(semaphore.releaseEarly()).toBe(true)
  await second
  expect(semaphore.releaseEarly()).toBe(false)
  semaphore.release(true)
  expect(semaphore.releaseEarly()).toBe(true)
  await third
  semaphore.release(true)
  expect(semaphore.isIdle()).toBe(false)
  semaphore.release()
  expect(semaphore.isIdle()).toBe(true)
})

test('a full queue refuses', async () => {
  const semaphore = createSemaphore(1, 1)
  await semaphore.acquire(undefined)
  void semaphore.acquire(undefined)
  expect(() => semaphore.acquire(undefined)).toThrow(OverloadError)
})

test('closing refuses those that wait and those that come later', async () => {
  const semaphore = createSemaphore(1, 10)
  await semaphore.acquire(undefined)
  const waiting = semaphore.acquire(undefined)
  semaphore.close(new Error('closed'))
  await expect(waiting).rejects.toThrow('closed')
  await expect(semaphore.acquire(undefined)).rejects.toThrow('closed')
})

test('those who wait take turns by group, and come in their order within one', async () => {
  const semaphore = createSemaphore(1, 100)
  await semaphore.acquire(undefined)
  const admitted: string[] = []
  const wait = async (name: string, group: string) => {
    await semaphore.acquire(undefined, group)
    admitted.push(name)
    semaphore.release()
  }
  const all = [wait('a1', 'a'), wait('a2', 'a'), wait('a3', 'a'), wait('b1', 'b'), wait('c1', 'c'), wait('b2', 'b')]
  semaphore.release()
  await Promise.all(all)
  expect(admitted).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  expect(semaphore.isIdle()).toBe(true)
})

test('a group may fill half of the places that the others leave', async () => {
  const semaphore = createSemaphore(1, 8)
  await semaphore.acquire(undefined)
  const fill = (group: string) => {
    for (let count = 0; ; count++) {
      try {
        void semaphore.acquire(undefined, group)
      } catch {
        return count
      }
    }
  }
  expect(fill('a')).toBe(4)
  expect(fill('b')).toBe(2)
  expect(fill('a')).toBe(0)
  expect(fill('c')).toBe(1)
})
