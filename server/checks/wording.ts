/** How a verdict came about, in one sentence each, for the people who read a diagnosis. */
export const WORDS = {
  failed: (aside: string | undefined) => withAside('Two paths failed, with a pause between them.', aside),
  lame: 'The recursive servers and the zone itself fail.',
  bogus: 'The recursive servers refuse the records, and give them when DNSSEC validation is switched off.',
  endless: 'The recursive servers fail, and answer when the aliases are asked for one by one.',
  recordedStill: 'One path failed; another one answers what is recorded.',
  recursiveAgree: (servers: number, aside: string | undefined) =>
    withAside(
      servers > 1 ? 'The recursive servers agree.' : 'The recursive server said so again, asked afresh.',
      aside,
    ),
  recursiveDivided: 'The recursive servers kept disagreeing; this is what most of them say.',
  pool: 'The servers give another part of the set each time; the values are all that were seen.',
  wavering: 'The servers now give records and now deny them; this is what they say most often.',
  zoneDivided: (names: readonly string[]) =>
    `The zone's name servers ${listed(names)} kept disagreeing; this is what most of them say.`,
  otherView: (zone: string) =>
    `The recursive servers are shown another zone than the public ${zone || 'root'} (split horizon), so theirs counts.`,
  unknownView: (zone: string) =>
    `The public ${zone || 'root'} zone knows nothing of the name, which may be one that only the recursive servers know.`,
} as const

export function serversAgree(names: readonly string[]): string {
  return names.length > 1
    ? `The zone's name servers ${listed(names)} agree.`
    : `The zone's name server ${names[0]} says so.`
}

export function asideWords(why: string): string {
  return `The zone's own name servers were left out: ${why}.`
}

/** Names as they stand in a sentence. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 4)
  if (names.length > shown.length) return `${shown.join(', ')} and ${names.length - shown.length} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

function withAside(sentence: string, aside: string | undefined): string {
  return aside === undefined ? sentence : `${sentence} ${aside}`
}
