/** How a verdict was reached, in one sentence each, for the people who read a diagnosis. */
export const REASONS = {
  failed: (zone: string | undefined) => withZone('Confirmed by a second query after a pause.', zone),
  lame: "The resolvers and the zone's own name servers fail.",
  bogus: 'The resolvers answer SERVFAIL, but return the records when DNSSEC validation is disabled.',
  bogusUnproven: 'The resolvers answer SERVFAIL. A later check confirms whether DNSSEC validation still fails.',
  loop: 'The resolvers fail, but answer when each CNAME record is queried separately.',
  network: 'No canary name resolves. Check the network of this server and DNS_SERVERS.',
  recordedStill: 'One query failed. A second query returned the recorded values.',
  resolversAgree: (servers: number, zone: string | undefined) =>
    withZone(servers > 1 ? 'The resolvers agree.' : 'Confirmed by a second query to the resolver.', zone),
  resolversDiffer: 'The resolvers disagree.',
  resolversDivided: 'The resolvers still disagree after repeated queries. The majority answer counts.',
  serversDiffer: 'The name servers disagree, and repeated queries return the same answers.',
  rotating: 'The answers rotate: each contains part of the RRset. The values are all of its records.',
  rotatingUnproven: 'The answers differ. Further queries show which values belong to the RRset.',
  wholeAgain: 'The answers no longer rotate: all are identical.',
  missingUnproven: 'Only some expected values were returned. Further queries show whether the answers rotate.',
  flapping: 'The name servers sometimes return records and sometimes do not. The most frequent answer counts.',
  zoneDivided: (names: readonly string[]) =>
    `The zone's name servers ${listed(names)} still disagree after repeated queries. The majority answer counts.`,
  zoneBusy: 'too many queries to them are pending',
  zoneFailed: (kind: string) => `none of them returned a usable answer (${kind})`,
  zoneSilent:
    "The zone's own name servers did not answer. Zonewatch queries them again before it relies on the resolvers.",
  otherView: (zone: string) =>
    `The resolvers serve a different zone than the public ${zone || 'root'} (split horizon). Their answer counts.`,
  unknownView: (zone: string) =>
    `The name does not exist in the public ${zone || 'root'} zone. It may exist only on the resolvers (split horizon).`,
} as const

export function serversAgree(names: readonly string[]): string {
  return names.length > 1
    ? `The zone's name servers ${listed(names)} agree.`
    : `Confirmed by the zone's name server ${names[0]}.`
}

export function zoneNotAsked(why: string): string {
  return `The zone's own name servers were not queried: ${why}.`
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
