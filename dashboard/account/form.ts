import { type FormEvent, useState } from 'react'

/** A form that is sent: whether it is in progress, and what the server said against it. */
export function useSubmit(send: (given: FormData) => Promise<unknown>) {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    setBusy(true)
    setProblem(undefined)
    try {
      await send(given)
    } catch (error) {
      setProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return { isBusy, problem, onSubmit }
}
