import { randomInt } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { ServerAddress } from './outcome.ts'
import { compareQuestion, mixCase } from './question-bytes.ts'
import type { Send } from './transport.ts'
import { openUdpSocket, type UdpSocket } from './udp-socket.ts'

/** The UDP sockets towards one server. `close` lets what is in flight finish. */
export type UdpPool = { send: Send; close(): void }

// A forger must guess id and port, and a port lives for few questions: RFC 5452 section 9.
const LINES = 4
const QUERIES_PER_LINE = 4
/** Opening a socket costs as much as a check: where very much is asked, a port serves what is sent within this. */
const LEAST_LIFE_MS = 50
const LINE_LIFE_MS = 10_000
/** When a server that does not repeat mixed case is tried again. */
const LOWER_CASE_MS = 10 * 60_000

type Open = { line: UdpSocket; openedAt: number; retire: () => void }

export function createUdpPool(server: ServerAddress, clock: Clock, deadlines: Deadlines): UdpPool {
  // Whether the server repeats mixed case, so that an answer that does not is not its own; false until `lowerUntil`.
  let repeatsCase: boolean | undefined
  let lowerUntil = 0
  const lines: (Open | undefined)[] = Array.from({ length: LINES })

  function pickLine(): UdpSocket {
    const place = randomInt(LINES)
    const current = lines[place]
    if (current?.line.isOpen() && !isUsedUp(current)) return current.line
    current?.retire()
    return open(place)
  }

  function isUsedUp({ line, openedAt }: Open): boolean {
    return line.asked() >= QUERIES_PER_LINE && clock.elapsed() - openedAt >= LEAST_LIFE_MS
  }

  function open(place: number): UdpSocket {
    const line = openUdpSocket(server)
    const retire = () => {
      takeBack()
      lines[place] = undefined
      line.retire()
    }
    const openedAt = clock.elapsed()
    const takeBack = deadlines.add(openedAt + LINE_LIFE_MS, retire)
    lines[place] = { line, openedAt, retire }
    return line
  }

  function useLowerCase(): void {
    repeatsCase = false
    lowerUntil = clock.elapsed() + LOWER_CASE_MS
  }

  /** Whether a response may be the answer, by whether its name has the letter case of the query. */
  function onCase(isSame: boolean): boolean {
    if (isSame) repeatsCase = true
    else if (repeatsCase === undefined) useLowerCase()
    return isSame || !repeatsCase
  }

  const send: Send = (query, done, mixesCase = false) => {
    if (repeatsCase === false && clock.elapsed() >= lowerUntil) repeatsCase = undefined
    if (!mixesCase || repeatsCase === false || !mixCase(query)) return pickLine().send(query, done, always)
    const giveUp = pickLine().send(query, done, onCase)
    return () => {
      const mismatched = giveUp()
      // Some servers do not answer mixed case at all, and a farm of servers may be of two minds.
      if (repeatsCase === undefined || (mismatched && compareQuestion(query, mismatched) === 'otherCase'))
        useLowerCase()
      return mismatched
    }
  }

  return {
    send,
    close() {
      for (const current of lines) current?.retire()
    },
  }
}

const always = () => true
