/** Too long for a UDP response of 1,232 bytes, but short enough for a monitor. */
export const BIG_TEXTS = Array.from({ length: 9 }, (_, at) => `${at}-${'x'.repeat(200)}`)

/** A DKIM key of 2048 bits needs more than the 255 bytes of one string. */
export const DKIM = `v=DKIM1; k=rsa; p=${'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA'.repeat(9)}IDAQAB`
export const DKIM_CHUNKS = [DKIM.slice(0, 255), DKIM.slice(255)]
