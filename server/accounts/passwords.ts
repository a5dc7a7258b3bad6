import { hashPassword, verifyPassword } from 'better-auth/crypto'

export type Passwords = {
  hash(password: string): Promise<string>
  verify(given: { hash: string; password: string }): Promise<boolean>
}

/** scrypt, 16 MiB and some 50 ms for each hash. Tests give the app cheaper ones; no setting does. */
export const scryptPasswords: Passwords = { hash: hashPassword, verify: verifyPassword }
