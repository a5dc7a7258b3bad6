/** In steps: what validating one response may cost. More than a chain of 16 CNAME records with a denial by NSEC3 needs, and about 10 ms. */
export const RESPONSE_STEPS = 3_000
/** Of all validations of one check: enough for more than eight servers that sign each answer on demand, and about 35 ms of CPU. */
export const CHECK_STEPS = 10_000

/**
 * What validations may still cost, in steps of about 3.5 µs: an iteration of a hash is one. A response can hold thousands of signatures and
 * keys with one key tag (CVE-2023-50387), and NSEC3 records with many iterations (CVE-2023-50868). What servers give alike is computed once.
 */
export class ValidationWork {
  #left: number
  #isExhausted = false
  readonly #signatures: Map<string, boolean>
  readonly #hashes: Map<string, Buffer>

  constructor(steps: number, known?: ValidationWork) {
    this.#left = steps
    this.#signatures = known ? known.#signatures : new Map()
    this.#hashes = known ? known.#hashes : new Map()
  }

  get left(): number {
    return this.#left
  }

  get isExhausted(): boolean {
    return this.#isExhausted
  }

  /** Returns false, and all is spent, if not as much is left. */
  spend(steps: number): boolean {
    this.#isExhausted ||= this.#left < steps
    this.#left = this.#isExhausted ? 0 : this.#left - steps
    return !this.#isExhausted
  }

  /** Runs work that may take so many steps of what is left. */
  within<T>(steps: number, run: (work: ValidationWork) => T): T {
    const given = Math.min(steps, this.#left)
    const part = new ValidationWork(given, this)
    try {
      return run(part)
    } finally {
      this.#left -= given - part.#left
    }
  }

  /** Undefined if not as much is left. `key`: of what is verified, with the cost if it is not known yet. */
  verify(key: string, steps: number, verify: () => boolean): boolean | undefined {
    const known = this.#signatures.get(key)
    if (known !== undefined) return this.spend(1) ? known : undefined
    if (!this.spend(steps)) return undefined
    const isValid = verify()
    this.#signatures.set(key, isValid)
    return isValid
  }

  /** Undefined if not as much is left. */
  hash(key: string, steps: number, compute: () => Buffer): Buffer | undefined {
    const known = this.#hashes.get(key)
    if (known) return this.spend(1) ? known : undefined
    if (!this.spend(steps)) return undefined
    const digest = compute()
    this.#hashes.set(key, digest)
    return digest
  }
}
