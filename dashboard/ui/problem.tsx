import { RotateCw, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { ApiProblem } from '../api.ts'
import { Button } from './button.tsx'

/** The error message of the server, or one for a failure of the page itself. */
export function problemMessage(problem: unknown): string {
  if (!(problem instanceof Error)) return 'Something went wrong.'
  if (!(problem instanceof ApiProblem))
    return `This page failed (${problem.message}). Reload it. If the error persists, report it.`
  return problem.message
}

/** An error message. `fields` are those that show their own errors, `tags` also that of `tags.2`; the others are listed here. */
export function ProblemNote({ problem, fields = [] }: { problem: unknown; fields?: readonly string[] }) {
  const others =
    problem instanceof ApiProblem
      ? Object.entries(problem.errors).filter(([path]) => !fields.some((name) => `${path}.`.startsWith(`${name}.`)))
      : []
  const areAllAtFields = problem instanceof ApiProblem && others.length === 0 && Object.keys(problem.errors).length > 0
  return (
    <div role="alert" className="flex gap-2.5 rounded-md bg-bad-wash px-3 py-2.5 text-sm text-bad">
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <div>
        {areAllAtFields ? 'Not saved. Correct the marked fields.' : problemMessage(problem)}
        {others.map(([path, message]) => (
          <p key={path}>
            <span className="font-mono text-xs">{path}</span> {message}
          </p>
        ))}
      </div>
    </div>
  )
}

/** Why a form was not saved, at its end. */
export function FormProblem({ problem, fields }: { problem: unknown; fields: readonly string[] }) {
  return (
    <div aria-live="polite" className="col-span-full empty:hidden">
      {problem !== undefined && <ProblemNote problem={problem} fields={fields} />}
    </div>
  )
}

/** Shown instead of content that could not be loaded. */
export function ProblemPage({
  problem,
  onRetry,
  children,
}: {
  problem: unknown
  onRetry?: () => void
  children?: ReactNode
}) {
  const isGone = problem instanceof ApiProblem && problem.status === 404
  return (
    <div role="alert" className="mx-auto flex max-w-md flex-col items-center gap-3 px-6 py-20 text-center">
      <TriangleAlert className="size-8 text-faint" strokeWidth={1.5} aria-hidden="true" />
      <h2 className="text-lg font-semibold">{isGone ? 'Not found' : 'Loading failed'}</h2>
      <p className="text-sm text-soft">
        {isGone ? 'It may have been deleted or belong to another organization.' : problemMessage(problem)}
      </p>
      {children}
      {onRetry && !isGone && (
        <Button onClick={onRetry}>
          <RotateCw /> Try again
        </Button>
      )}
    </div>
  )
}

/** The error of a form field by its path. An error of `expected_value.2` also counts for `expected_value`. */
export function fieldError(problem: unknown, path: string): string | undefined {
  if (!(problem instanceof ApiProblem)) return undefined
  return problem.errors[path] ?? Object.entries(problem.errors).find(([key]) => key.startsWith(`${path}.`))?.[1]
}
