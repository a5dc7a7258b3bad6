type Naming = { verb: string; words: Word[]; isAction: boolean; isBulk: boolean; isOne: boolean }
/** `owns`: the next part of the path belongs to one of these. */
type Word = { word: string; owns: boolean }

/** `monitors` → `monitor`; what is no plural stays. */
const singular = (word: string) => (isPlural(word) ? word.slice(0, -1) : word)
const isPlural = (word: string) => word.endsWith('s')
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)
const camel = (text: string) => text.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase())
const isParameter = (part: string) => part.startsWith('{')

const VERBS: Record<string, string> = { get: 'get', post: 'create', put: 'replace', patch: 'update', delete: 'delete' }
const PLAIN: Record<string, string> = {
  list: 'List',
  get: 'Read',
  create: 'Make',
  replace: 'Set',
  update: 'Change',
  delete: 'Delete',
}

/**
 * A name for each operation that generators of clients can use: `listMonitors`, `getMonitor`, `createGroup`,
 * `enableWebhook`, `listMonitorEvents`. Made from method and path, so that no route has to say it.
 */
export function operationIdOf(method: string, path: string, answersPage: boolean): string {
  const { verb, words, isAction, isBulk, isOne } = namingOf(method, path, answersPage)
  const name = words.map(({ word }, index) => {
    const isSingular = !isBulk && (isOne || index < words.length - 1)
    return capital(camel(isSingular ? singular(word) : word))
  })
  if (isBulk) return `create${name.join('')}InBulk`
  return `${camel(verb)}${isAction && verb.includes('-') ? 'Of' : ''}${name.join('')}`
}

/** What an operation does in a few words, for routes that do not say it themselves: `List the events of a monitor`. */
export function summaryOf(method: string, path: string, answersPage: boolean): string {
  const { verb, words, isAction, isBulk, isOne } = namingOf(method, path, answersPage)
  const [last, ...owners] = words
    .filter(({ word, owns }, index) => index === words.length - 1 || owns || !isPlural(word))
    .reverse()
  const noun = last?.word ?? ''
  if (isBulk) return `Make many ${noun} at once`
  const plain = isAction ? capital(verb.replaceAll('-', ' ')) : PLAIN[verb]
  const all = owners.length === 0 ? noun : `the ${noun}`
  const object = isPlural(noun) ? (isOne ? withArticle(singular(noun)) : all) : `the ${noun}`
  return [
    `${plain} ${object}`,
    ...owners.map(({ word }) => (isPlural(word) ? withArticle(singular(word)) : `the ${word}`)),
  ].join(' of ')
}

function namingOf(method: string, path: string, answersPage: boolean): Naming {
  const parts = path.split('/').slice(1)
  const last = parts.at(-1) ?? ''
  const isBulk = method === 'post' && last === 'bulk'
  const isAction = method === 'post' && !isParameter(last) && isParameter(parts.at(-2) ?? '') && !isPlural(last)
  const named = isAction || isBulk ? parts.slice(0, -1) : parts
  return {
    verb: isAction ? last : answersPage ? 'list' : (VERBS[method] ?? method),
    words: named.flatMap((word, index) =>
      isParameter(word) ? [] : [{ word, owns: isParameter(named[index + 1] ?? '') }],
    ),
    isAction,
    isBulk,
    isOne: isParameter(last) || isAction || method === 'post',
  }
}

const withArticle = (word: string) => `${/^[aeio]/.test(word) ? 'an' : 'a'} ${word}`
