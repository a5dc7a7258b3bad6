import { createHash } from 'node:crypto'
import { type Passwords, scryptPasswords } from '../accounts/passwords.ts'

/** Marks a hash that costs nothing to make: no server accepts it. */
const CHEAP = 'cheap:'

/** For the app of a test: new hashes cost nothing, and those of a real server are verified too. `hashed` counts both. */
export function createCheapPasswords(): Passwords & { hashed: number } {
  const passwords = {
    hashed: 0,
    async hash(password: string) {
      passwords.hashed++
      return cheapHash(password)
    },
    async verify({ hash, password }: { hash: string; password: string }) {
      passwords.hashed++
      return hash.startsWith(CHEAP) ? hash === cheapHash(password) : await scryptPasswords.verify({ hash, password })
    },
  }
  return passwords
}

export function cheapHash(password: string): string {
  return `${CHEAP}${createHash('sha256').update(password).digest('hex')}`
}
