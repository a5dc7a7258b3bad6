import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Versioned } from '../api.ts'
import { Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { openedQuery } from './use-edit.ts'

type OpenedProps<Resource> = { path: string; children: (opened: Versioned<Resource>) => ReactNode }

/** Loads a resource for its form. `path` includes the query. */
export function LoadResource<Resource>({ path, children }: OpenedProps<Resource>) {
  const { data, error, refetch } = useQuery(openedQuery<Resource>(path))
  if (data) return children(data)
  return error ? <ProblemPage problem={error} onRetry={() => void refetch()} /> : <Skeleton lines={8} />
}
