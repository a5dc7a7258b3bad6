import { type Ds, parseDsText } from './dnssec-records.ts'

/** The root zone's key signing keys of 2017 and 2024, as IANA publishes them (root-anchors.xml). RFC 9718. */
export const ROOT_TRUST_ANCHORS: readonly Ds[] = [
  '20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D',
  '38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16',
].map((text) => parseDsText(text)!)
