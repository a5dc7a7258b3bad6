/** When each loop last finished an iteration. Readiness needs it to tell a loop that hangs from an idle one. */
export class LoopHealth {
  readonly #reportedAt = new Map<string, number>()

  /** `elapsed`: `Clock.elapsed()`. */
  report(loop: string, elapsed: number): void {
    this.#reportedAt.set(loop, elapsed)
  }

  /** Loops that reported within the last `ms`. */
  runningLoops(elapsed: number, ms: number): string[] {
    return [...this.#reportedAt].filter(([, at]) => elapsed - at <= ms).map(([loop]) => loop)
  }

  /** Loops that have not reported for `ms`. */
  hangingLoops(elapsed: number, ms: number): string[] {
    return [...this.#reportedAt].filter(([, at]) => elapsed - at > ms).map(([loop]) => loop)
  }
}
