import { randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, string, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/** `<salt>:<scrypt of the password>`, hex, with the parameters that OWASP names for scrypt. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16).toString('hex')
  const [N, r, p] = [16_384, 16, 1]
  const key = await derive(password.normalize('NFKC'), salt, 64, { N, r, p, maxmem: 256 * N * r })
  return `${salt}:${key.toString('hex')}`
}
