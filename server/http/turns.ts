/** Lets whoever has the same name in one after the other, within this process. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  /** Resolves when it is this one's turn, with what ends the turn. Ending it twice does no harm. */
  async enter(name: string): Promise<() => void> {
    const before = this.#last.get(name)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last.set(name, promise)
    await before
    return () => {
      if (this.#last.get(name) === promise) this.#last.delete(name)
      resolve()
    }
  }
}
