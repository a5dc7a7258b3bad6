/**
 * When each loop last completed a pass, and when this process last wrote to the database. Readiness needs both: a loop that only fails
 * does nothing, and an idle loop may read for hours from a database that accepts no writes.
 */
export class LoopHealth {
  readonly #completedAt = new Map<string, number>()
  /** Since when no result of the loop could be recorded. */
  readonly #unrecordedSince = new Map<string, number>()
  #wroteAt: number | undefined

  /** The loop has started. It gets the same time for its first pass as for the others. `elapsed`: `Clock.elapsed()`. */
  begin(loop: string, elapsed: number): void {
    if (!this.#completedAt.has(loop)) this.#completedAt.set(loop, elapsed)
  }

  /** The loop has completed a pass. */
  report(loop: string, elapsed: number): void {
    this.#completedAt.set(loop, elapsed)
  }

  /** A result that the loop worked out could not be recorded. */
  notRecorded(loop: string, elapsed: number): void {
    if (!this.#unrecordedSince.has(loop)) this.#unrecordedSince.set(loop, elapsed)
  }

  recorded(loop: string): void {
    this.#unrecordedSince.delete(loop)
  }

  /** This process has written to the database. */
  wrote(elapsed: number): void {
    this.#wroteAt = elapsed
  }

  /** False if the last write is more than `ms` ago. True in a process that does not report its writes. */
  isWriting(elapsed: number, ms: number): boolean {
    return this.#wroteAt === undefined || elapsed - this.#wroteAt <= ms
  }

  /** Loops that completed a pass within the last `ms`, and recorded a result since if there were any. */
  runningLoops(elapsed: number, ms: number): string[] {
    return [...this.#completedAt.keys()].filter((loop) => !this.#hangs(loop, elapsed, ms))
  }

  /** The other loops. */
  hangingLoops(elapsed: number, ms: number): string[] {
    return [...this.#completedAt.keys()].filter((loop) => this.#hangs(loop, elapsed, ms))
  }

  #hangs(loop: string, elapsed: number, ms: number): boolean {
    const completedAt = this.#completedAt.get(loop) ?? elapsed
    const unrecordedSince = this.#unrecordedSince.get(loop) ?? elapsed
    return elapsed - Math.min(completedAt, unrecordedSince) > ms
  }
}
