const MAX_WORDS = 30

type Document = { path: string; text: string }

/** One line for each sentence with too many words. Ignores code, addresses and table rows. */
export function findLongSentences({ path, text }: Document): string[] {
  return sentencesOf(text).flatMap((sentence) => {
    const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
    return words.length > MAX_WORDS ? [`${path}: ${words.length} words, at most ${MAX_WORDS}: ${sentence}`] : []
  })
}

function sentencesOf(markdown: string): string[] {
  return markdown
    .replaceAll(/^```.*?^```$/gms, '\n\n')
    .replaceAll(/<!--.*?-->/gs, '')
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .split(/\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\||#))/)
    .filter((block) => !/^\s*(?:\||#)/.test(block))
    .flatMap((block) => block.replaceAll(/\s+/g, ' ').split(/(?<=[.!?:][*"')]*) (?=[\p{Lu}\d`*"[(])/u))
    .map((sentence) => sentence.replace(/^\s*(?:[-*]|\d+\.)\s+/, '').trim())
    .filter((sentence) => sentence !== '')
}
