/** What must not stand in the code: work put off, and tests that do not run. */
const UNFINISHED: [RegExp, string][] = [
  [/\b(?:TO\x44O|FIX\x4dE|X\x58X)\b/, 'do it, or open an issue'],
  [/\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo|fails|skipIf|runIf)\b/, 'every test runs everywhere'],
]

/** One line for each place. */
export function findUnfinished({ path, text }: { path: string; text: string }): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      UNFINISHED.filter(([pattern]) => pattern.test(line)).map(
        ([, advice]) => `${path}:${index + 1} ${line.trim()}  (${advice})`,
      ),
    )
}
