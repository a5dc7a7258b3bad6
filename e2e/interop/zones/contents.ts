import { KNOT, NSD } from '../addresses.ts'
import { BIG_TEXTS, DKIM_CHUNKS } from './texts.ts'
import type { ZoneContent } from './zone.ts'

const BOTH = [KNOT, NSD]

const BIG = BIG_TEXTS.map((text) => `big TXT "${text}"`).join('\n')
const LONG_CHAIN = Array.from({ length: 20 }, (_, at) => `long${at} CNAME long${at + 1}`).join('\n')

/** Zones with every record type and every kind of name. */
const main = `
@ A 192.0.2.1
@ MX 10 mail
@ MX 20 mail2.other.test.
@ TXT "v=spf1 include:_spf.other.test ip4:192.0.2.0/24 -all"
@ TXT "site-verification=AbC"
@ CAA 0 issue "ca.test; account=42"
@ CAA 0 issuewild ";"
@ CAA 128 iodef "mailto:caa@zone.test"
ns1 A ${KNOT}
ns2 A ${NSD}
www A 192.0.2.10
www A 192.0.2.11
www AAAA 2001:db8::10
www AAAA 2001:db8:0:1::11
mail A 192.0.2.25
nomail MX 0 .
xn--bcher-kva A 192.0.2.30
*.wild A 192.0.2.40
*.wild MX 10 mail
a.ent A 192.0.2.50
_dmarc TXT "v=DMARC1; p=reject; rua=mailto:dmarc@zone.test"
s1._domainkey TXT ${DKIM_CHUNKS.map((chunk) => `"${chunk}"`).join(' ')}
utf8 TXT "gr\\195\\188\\195\\159e \\240\\159\\152\\128 \\"quoted\\" \\\\ back"
octets TXT "\\255\\254end"
twospf TXT "v=spf1 mx -all"
twospf TXT "v=spf1 a -all"
nospf TXT "nothing of the kind"
alias1 CNAME alias2
alias2 CNAME alias3
alias3 CNAME www
across CNAME back.other.test.
_sip._tcp SRV 10 5 5060 Mail
_443._tcp.www TLSA 3 1 1 ( 0C72AC70B745AC19998811B131D662C9
  AC69DBDBE7CB23E5B514B56664C5D3D6 )
mail SSHFP 4 2 A87F1B687AC0E57D2A081A2F282672334D90ED316D2B818CA9580EA384D92401
www HTTPS 1 . alpn="h3,h2" ipv4hint=192.0.2.11,192.0.2.10 key65400="a b"
apex HTTPS 0 www
_dns SVCB 1 mail mandatory=alpn,port alpn="f\\\\\\\\oo\\\\,bar,dot" port=853 ech=AEX+DQBB
secure NS ns1.other.test.
secure DS 60485 RSASHA1 2 ( D4B7D520E7BB5F0F67674A0CCEB1E3E0614B93C4F9E99B8383F6A1E4469DA50A )
enum NAPTR 100 10 "u" "E2U+sip" "!^.*$!sip:info@zone.test!" .
enum NAPTR 100 20 "" "x" "" mail
dangling CNAME nowhere.other.test.
loop1 CNAME loop2
loop2 CNAME loop1
${BIG}
${LONG_CHAIN}
long20 A 192.0.2.60`

const other = `
mail2 A 192.0.2.26
_spf TXT "v=spf1 ip4:192.0.2.0/24 -all"
back CNAME www.zone.test.`

/** A reverse zone with a CNAME as in RFC 2317. */
const reverse4 = `
10 PTR www.zone.test.
25 CNAME 25.0/26
25.0/26 PTR mail.zone.test.`

const reverse6 = '0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0 PTR www.zone.test.'

const signed = `
www A 192.0.2.80
www TXT "signed"`

/** A lame delegation. */
export const LAME = { name: 'sub.lame.test', servers: [NSD] }

export const CONTENTS: readonly ZoneContent[] = [
  { name: 'zone.test', servers: BOTH, ttl: 300, lines: main },
  { name: 'other.test', servers: BOTH, ttl: 300, lines: other },
  { name: '2.0.192.in-addr.arpa', servers: BOTH, ttl: 300, lines: reverse4 },
  { name: '8.b.d.0.1.0.0.2.ip6.arpa', servers: BOTH, ttl: 300, lines: reverse6 },
  { name: 'lame.test', servers: [KNOT], ttl: 300, lines: 'sub NS ns2.zone.test.' },
]

/** Signed zones: valid, with expired signatures, and with a record changed after signing. */
export const SIGNED: readonly ZoneContent[] = ['signed.test', 'expired.test', 'forged.test'].map((name) => ({
  name,
  servers: BOTH,
  ttl: 300,
  lines: signed,
}))

/** Zones that tests change: a record for each queried server, with a TTL of 0. */
export const CHANGING: readonly ZoneContent[] = [
  { name: 'changing-knot.test', servers: [KNOT], ttl: 0, lines: 'knot A 192.0.2.1\nunbound A 192.0.2.1' },
  { name: 'changing-nsd.test', servers: [NSD], ttl: 0, lines: 'nsd A 192.0.2.1\nbind A 192.0.2.1' },
]

/** A configured zone without a zone file. */
export const UNLOADED = { name: 'unloaded.test', servers: BOTH }

/** A name that every server refuses. */
export const REFUSED = 'refused.test'
