import type { TestApp } from './test-app.ts'

/** All routes of the app, such as `POST /monitors`. */
export function listRoutes({ app }: Pick<TestApp, 'app'>): string[] {
  const parts: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indent, part, methods] = /^([│ ]*)[├└]── (\S+)(?: \((.+)\))?$/.exec(line) ?? []
      if (part === undefined) return []
      parts.length = indent!.length / 4
      parts.push(part)
      const path = parts.join('').replace('//', '/')
      const supported = (methods ?? '').split(', ').filter((method) => /^(GET|POST|PUT|PATCH|DELETE)$/.test(method))
      return supported.map((method) => `${method} ${path}`)
    })
}
