import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hmacSha256 } from './hmac.ts'

test('whatever the key and the message, it is what the library computes', () => {
  const key = fc.uint8Array({ maxLength: 200 })
  const message = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.uint8Array({ maxLength: 300 }))
  fc.assert(
    fc.property(key, message, (key, message) => {
      expect(hmacSha256(key)(message)).toEqual(createHmac('sha256', key).update(message).digest())
    }),
    {
      examples: [
        [new Uint8Array(64), ''],
        [new Uint8Array(65).fill(1), 'x'],
      ],
    },
  )
})
