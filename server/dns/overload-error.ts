/** So much is to be asked of a server that the turn of one more question would come too late. Says nothing about the server. */
export class OverloadError extends Error {
  /** When there is likely to be a turn. */
  readonly retryInMs: number

  constructor(retryInMs: number) {
    super(`Too many queries to one name server are pending. Retry in ${Math.ceil(retryInMs / 1000)} s.`)
    this.retryInMs = retryInMs
  }
}
