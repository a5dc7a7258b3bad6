/** The loops report each turn here, so that readiness can tell a loop that hangs from one that has nothing to do. */
export class LoopHealth {
  readonly #beats = new Map<string, number>()

  /** `elapsed`: `Clock.elapsed()`. */
  beat(loop: string, elapsed: number): void {
    this.#beats.set(loop, elapsed)
  }

  /** Loops that made a turn within the last `ms`. */
  working(elapsed: number, ms: number): string[] {
    return [...this.#beats].filter(([, at]) => elapsed - at <= ms).map(([loop]) => loop)
  }

  /** Loops that made no turn for `ms`. */
  silent(elapsed: number, ms: number): string[] {
    return [...this.#beats].filter(([, at]) => elapsed - at > ms).map(([loop]) => loop)
  }
}
