/** How a verdict was reached, in one sentence each, for the people who read a diagnosis. */
export const REASONS = {
  failed: (zone: string | undefined) => withZone('Two queries failed, with a pause between them.', zone),
  lame: "The resolvers and the zone's own name servers fail.",
  bogus: 'The resolvers refuse the records, and give them when DNSSEC validation is switched off.',
  bogusUnproven: 'The resolvers refuse the records; a later check will tell whether DNSSEC validation still fails.',
  loop: 'The resolvers fail, and answer when the CNAME records are queried one by one.',
  network: 'No canary name resolves: our own network or DNS_SERVERS are at fault.',
  recordedStill: 'One query failed; another one was answered with what is recorded.',
  resolversAgree: (servers: number, zone: string | undefined) =>
    withZone(servers > 1 ? 'The resolvers agree.' : 'Confirmed by a second query to the resolver.', zone),
  resolversDiffer: 'The resolvers disagree.',
  resolversDivided: 'The resolvers kept disagreeing; this is what most of them answer.',
  serversDiffer: 'The servers disagree, and each of them keeps to its answer.',
  rotating: 'The answers rotate: each holds a part of the RRset, and the values are all of its members.',
  rotatingUnproven: 'The answers differ from one another; it is not certain yet which values belong to the RRset.',
  wholeAgain: 'The answers no longer rotate: all of them are the same.',
  missingUnproven:
    'Only a part of the expected values was answered; further queries will tell whether the others are given in turn.',
  flapping: 'The servers sometimes answer with records and sometimes deny them; this is what they answer most often.',
  zoneDivided: (names: readonly string[]) =>
    `The zone's name servers ${listed(names)} kept disagreeing; this is what most of them answer.`,
  zoneBusy: 'too many other queries are waiting for them',
  zoneFailed: (kind: string) => `none of them gave a usable answer (${kind})`,
  zoneSilent: "The zone's own name servers did not answer; they are asked again before the resolvers decide.",
  otherView: (zone: string) =>
    `The resolvers see another zone than the public ${zone || 'root'} (split horizon), so their answer counts.`,
  unknownView: (zone: string) =>
    `The public ${zone || 'root'} zone does not know the name, which may exist only for the resolvers.`,
} as const

export function serversAgree(names: readonly string[]): string {
  return names.length > 1
    ? `The zone's name servers ${listed(names)} agree.`
    : `The zone's name server ${names[0]} says so.`
}

export function zoneNotAsked(why: string): string {
  return `The zone's own name servers were left out: ${why}.`
}

/** Names as they appear in a sentence. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, 4)
  if (names.length > shown.length) return `${shown.join(', ')} and ${names.length - shown.length} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

function withZone(sentence: string, zone: string | undefined): string {
  return zone === undefined ? sentence : `${sentence} ${zone}`
}
