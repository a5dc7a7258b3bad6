import { expect, test } from 'vitest'
import { findLongSentences } from './readability.ts'

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

test('a sentence may have 30 words, but not 31', () => {
  expect(findLongSentences({ path: 'a.md', text: `# Title\n\nA ${words(29)}. A ${words(29)}.\n` })).toEqual([])
  const [found] = findLongSentences({ path: 'a.md', text: `W${words(31).slice(1)}.` })
  expect(found).toMatch(/^a\.md: 31 words, at most 30: Word word/)
})

test('list items count as sentences, with the words of links and without code and tables', () => {
  const list = `- ${words(20)}\n- ${words(20)}\n\n| ${words(40)} |\n\n\`\`\`sh\n${words(40)}\n\`\`\`\n`
  expect(findLongSentences({ path: 'a.md', text: list })).toEqual([])
  expect(findLongSentences({ path: 'a.md', text: `- ${words(20)} [${words(11)}](b.md)` })).toHaveLength(1)
})
