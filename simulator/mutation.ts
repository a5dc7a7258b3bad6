import { registerHooks } from 'node:module'
import type { RuleMutant } from '#server/checks/rule-mutants.ts'

/**
 * Breaks one rule or threshold of the product in this thread. To be called before the judge is loaded. Throws if the mutant does
 * not fit the source any more.
 */
export async function mutate(mutant: RuleMutant): Promise<void> {
  const { file } = mutant
  const url = new URL(`../server/${file}`, import.meta.url).href
  if ('rule' in mutant) {
    const module = (await import(url)) as Record<string, readonly { name: string; apply: () => undefined }[]>
    const rule = module[mutant.list]?.find(({ name }) => name === mutant.rule)
    if (!rule) throw new Error(`${file} has no rule "${mutant.rule}" in ${mutant.list}.`)
    rule.apply = () => undefined
    return
  }
  registerHooks({
    load(loaded, context, nextLoad) {
      const result = nextLoad(loaded, context)
      if (loaded !== url) return result
      return { ...result, source: mutatedSource(String(result.source), mutant) }
    },
  })
}

/** The source with the threshold or the condition changed. */
export function mutatedSource(source: string, mutant: Exclude<RuleMutant, { rule: string }>): string {
  const [from, to] =
    'constant' in mutant
      ? [new RegExp(`(const ${mutant.constant}(?:: [^=]+)? = )[^\\n]+`), `$1${mutant.value}`]
      : [mutant.from, mutant.to]
  const changed = source.replace(from, to)
  if (changed === source)
    throw new Error(`${mutant.file} does not contain what the mutant "${nameOf(mutant)}" changes.`)
  return changed
}

export function nameOf(mutant: RuleMutant): string {
  if ('rule' in mutant) return `rule "${mutant.rule}" never applies`
  return 'constant' in mutant ? `${mutant.constant} = ${mutant.value}` : mutant.name
}
