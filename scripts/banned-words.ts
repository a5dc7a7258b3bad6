/** Unfinished work and tests that do not run. */
const UNFINISHED: [RegExp, string][] = [
  [/\b(?:TO\x44O|FIX\x4dE|X\x58X)\b/, 'do it, or open an issue'],
  [/\b(?:test|it|describe)(?:\.\w+)*\.(?:skip|only|todo|fails|skipIf|runIf)\b/, 'every test runs everywhere'],
]

/** Metaphors for standard terms, in names, comments, messages and documents. */
const BANNED: [RegExp, string][] = [
  [
    /\b(?:do\x6frs?|be\x6cls?|he\x61rt|he\x61ring|testim\x6fn(?:y|ies)|v\x6fices?|witn\x65ss(?:es)?)\b/i,
    'use the standard term',
  ],
  [/\b(?:str\x61ys?|stret\x63h(?:es)?|p\x6fstman)\b/i, 'use the standard term'],
  [/\bby h\x61nd\b/i, 'say manual or manually'],
  [/\bhe\x61rs? of\b/i, 'say receives'],
]

/** Unusual words, refused in documents only. */
const BANNED_IN_DOCUMENTS: [RegExp, string][] = [
  [/\b(?:anew|afresh)\b/i, 'say again'],
  [/\bwhoever\b/i, 'say who does what: the operator, a client, anyone who …'],
  [/\balias loops?\b/i, 'say CNAME loop'],
  [/\b(?:is|are|was|were|be) told\b/i, 'say who notifies whom'],
  [/\bunder way\b/i, 'say running, pending or in progress'],
  [/\bblanks?\b/i, 'say space'],
  [/\bfor good\b/i, 'say permanently'],
  [/\bhold up\b/i, 'say delay'],
]

/** Refused in messages, labels, test titles and names, but not in comments. */
const BANNED_IN_CODE: [RegExp, string][] = [
  ...BANNED_IN_DOCUMENTS,
  [/\btold\b/i, 'say who notifies whom, or what is shown'],
  [/\bhears?\b|\bheard\b/i, 'say receives'],
  [/\b(?:steps?|stepped) aside\b/i, 'say what happens to the others'],
  [/\bendless(?:ly)?\b/i, 'say loop, or without limit'],
  [/\b(?:room|walk(?:s|ed)?)\b/i, 'use the standard term: capacity, limit, read, follow'],
  [/\bstands?\b(?! for)/i, 'say is'],
]

type File = { path: string; text: string }

/** One line for each occurrence. */
export const findUnfinished = (file: File): string[] => find(file, UNFINISHED)

/** One line for each occurrence. */
export const findBanned = (file: File): string[] => find(file, BANNED)

/** One line for each occurrence. */
export const findBannedInDocuments = (file: File): string[] => find(file, BANNED_IN_DOCUMENTS)

/** One line for each occurrence. */
export const findBannedInCode = ({ path, text }: File): string[] =>
  find({ path, text: withoutComments(text) }, BANNED_IN_CODE)

/** Matches strings first, so that `//` inside of a string stays. */
function withoutComments(code: string): string {
  const parts = /("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g
  return code.replace(parts, (part, text?: string) => text ?? part.replace(/[^\n]/g, ''))
}

function find({ path, text }: File, words: typeof UNFINISHED): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      words
        .filter(([pattern]) => pattern.test(line))
        .map(([, advice]) => `${path}:${index + 1} ${line.trim()}  (${advice})`),
    )
}
