import { ApiProblem } from '../api.ts'
import { ButtonLink } from '../ui/button.tsx'
import { ProblemPage } from '../ui/problem.tsx'

export function NotFoundPage() {
  return (
    <ProblemPage problem={new ApiProblem(404, {})}>
      <ButtonLink to="/">Go to overview</ButtonLink>
    </ProblemPage>
  )
}
