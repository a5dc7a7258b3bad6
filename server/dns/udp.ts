import { randomInt } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { ServerAddress } from './outcome.ts'
import type { Send } from './transport.ts'
import { openUdpLine, type UdpLine } from './udp-line.ts'

/** The UDP sockets towards one server. `close` lets what is in flight finish. */
export type UdpPool = { send: Send; close(): void }

// A forger must guess id and port, and a port lives for few questions: RFC 5452 section 9.
const LINES = 4
const QUESTIONS_PER_LINE = 100
const LINE_LIFE_MS = 10_000

export function createUdpPool(server: ServerAddress, clock: Clock, deadlines: Deadlines): UdpPool {
  const lines: ({ line: UdpLine; retire: () => void } | undefined)[] = Array.from({ length: LINES })

  function pickLine(): UdpLine {
    const place = randomInt(LINES)
    const current = lines[place]
    if (current?.line.isOpen() && current.line.asked() < QUESTIONS_PER_LINE) return current.line
    current?.retire()
    return open(place)
  }

  function open(place: number): UdpLine {
    const line = openUdpLine(server)
    const retire = () => {
      takeBack()
      lines[place] = undefined
      line.retire()
    }
    const takeBack = deadlines.add(clock.elapsed() + LINE_LIFE_MS, retire)
    lines[place] = { line, retire }
    return line
  }

  return {
    send: (query, done) => pickLine().send(query, done),
    close() {
      for (const current of lines) current?.retire()
    },
  }
}
