import { RotateCw, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { ApiProblem } from '../api.ts'
import { Button } from './button.tsx'

/** What went wrong, in the server's words where it said any. */
export function sentenceOf(problem: unknown): string {
  if (!(problem instanceof Error)) return 'Something went wrong.'
  if (!(problem instanceof ApiProblem))
    return `This page failed (${problem.message}). Reload it. If the error persists, report it.`
  return problem.message
}

/** Beside what failed. Problems of single fields stand at the fields; here is what no field shows. */
export function ProblemNote({ problem, fields = [] }: { problem: unknown; fields?: readonly string[] }) {
  const others =
    problem instanceof ApiProblem ? Object.entries(problem.errors).filter(([path]) => !fields.includes(path)) : []
  const isMarked = problem instanceof ApiProblem && others.length === 0 && Object.keys(problem.errors).length > 0
  return (
    <div role="alert" className="flex gap-2.5 rounded-md bg-bad-wash px-3 py-2.5 text-sm text-bad">
      <TriangleAlert className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <div>
        {isMarked ? 'Not saved. Correct the marked fields.' : sentenceOf(problem)}
        {others.map(([path, sentence]) => (
          <p key={path}>
            <span className="font-mono text-xs">{path}</span> {sentence}
          </p>
        ))}
      </div>
    </div>
  )
}

/** In place of what could not be loaded: what is wrong and what to do. */
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
        {isGone ? 'It may have been deleted or belong to another organization.' : sentenceOf(problem)}
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

/** Form fields' own sentences, by path; undefined where a field is fine. `expected_value.2` counts for `expected_value` too. */
export function fieldError(problem: unknown, path: string): string | undefined {
  if (!(problem instanceof ApiProblem)) return undefined
  const own = problem.errors[path]
  if (own !== undefined) return own
  return Object.entries(problem.errors).find(([each]) => each.startsWith(`${path}.`))?.[1]
}
