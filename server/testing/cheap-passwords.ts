import { createHash } from 'node:crypto'
import { type Passwords, scryptPasswords } from '../accounts/passwords.ts'

/** Marks a hash that is cheap to compute. No real server accepts it. */
const CHEAP = 'cheap:'

/** Cheap password hashes for tests. Verifies real hashes too. `hashed` counts all calls. */
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
