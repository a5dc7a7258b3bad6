import { describe, expect, test } from 'vitest'
import { givenApp } from '../testing/test-app.ts'

describe.each(['sqlite', 'postgres'] as const)('the organization (%s)', (engine) => {
  test('the response has exactly the fields of an organization', async () => {
    const world = await givenApp(engine)

    const { status, body } = await world.call('/organization')

    expect(status).toBe(200)
    expect(body).toEqual({
      id: expect.stringMatching(/^org_[0-9a-z]{26}$/),
      name: 'First',
      slug: 'first',
      created: expect.stringMatching(/Z$/),
      settings: { timezone: 'UTC', event_retention_days: null, alert_emails: [], logo: null },
    })
  })

  test('absent fields keep their values', async () => {
    const world = await givenApp(engine)
    const change = async (body: object) => (await world.call('/organization', { method: 'PATCH', body })).body

    await change({ name: 'Acme', settings: { timezone: 'Europe/Berlin', event_retention_days: 90 } })
    await change({ slug: 'acme', settings: { alert_emails: ['ops@example.com', 'ops@example.com'] } })
    expect(await change({})).toMatchObject({
      name: 'Acme',
      slug: 'acme',
      settings: { timezone: 'Europe/Berlin', event_retention_days: 90, alert_emails: ['ops@example.com'] },
    })

    expect((await change({ settings: { event_retention_days: null, alert_emails: null } })).settings).toEqual({
      timezone: 'Europe/Berlin',
      event_retention_days: null,
      alert_emails: [],
      logo: null,
    })
  })

  test('the logo must be a small image without scripts, and the audit log has only its hash', async () => {
    const world = await givenApp(engine)
    const change = async (logo: unknown) =>
      (await world.call('/organization', { method: 'PATCH', body: { settings: { logo } } })).body
    const dataUrl = (type: string, bytes: Buffer) => `data:image/${type};base64,${bytes.toString('base64')}`
    const png = (length: number) => Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(length)])
    const logo = dataUrl('png', png(100))
    expect((await change(logo)).settings.logo).toBe(logo)

    const refused = {
      'too large': dataUrl('png', png(32_768)),
      'another format': dataUrl('webp', png(100)),
      'a page': dataUrl('png', Buffer.from('<html><script>alert(1)</script>')),
      SVG: dataUrl('svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')),
      'an address elsewhere': 'https://tracker.example/logo.png',
      'a second part': `${logo}" onerror="alert(1)`,
    }
    for (const [what, wrong] of Object.entries(refused))
      expect([what, (await change(wrong)).errors]).toEqual([what, { 'settings.logo': expect.any(String) }])
    expect((await change('data:image/png;base64,AAAA')).errors['settings.logo']).toBe(
      'must be a PNG, JPEG or WebP image of at most 32768 bytes.',
    )
    expect((await change(null)).settings.logo).toBeNull()
    const { key } = await world.key('admin')
    const { body, text } = await world.call('/audit-log?action=organization.updated&order_way=asc', { key })
    expect(text).not.toContain('base64')
    const image = { logo: expect.stringMatching(/^[0-9a-f]{16}$/) }
    expect(body.data).toMatchObject([
      { before: { logo: null }, after: image },
      { before: image, after: { logo: null } },
    ])
  })

  test('one response names every error and the allowed values', async () => {
    const world = await givenApp(engine)
    const settings = {
      timezone: 'Mars',
      event_retention_days: 0,
      alert_emails: ['a@example.com', 'nobody'],
      colour: 'red',
    }

    const { status, body } = await world.call('/organization', { method: 'PATCH', body: { slug: 'No Slug', settings } })

    expect(status).toBe(400)
    expect(body.errors).toEqual({
      slug: 'must be lower-case letters, digits and single hyphens, 1 to 100 characters, not "No Slug".',
      'settings.timezone': 'must be an IANA time zone, like UTC or Europe/Berlin.',
      'settings.event_retention_days': 'must be from 1 to 36500, not 0.',
      'settings.alert_emails.1': 'must be an email address, not "nobody".',
      'settings.colour': 'is unknown. Allowed: timezone, event_retention_days, alert_emails, logo.',
    })
  })

  test('a body that is not an object is refused', async () => {
    const world = await givenApp(engine)
    for (const path of ['/organization', '/organization/billing']) {
      for (const body of [null, [], 'text', undefined]) {
        const response = await world.call(path, { method: 'PATCH', body })
        expect([response.status, Object.keys(response.body.errors)]).toEqual([400, ['body']])
      }
      const { body } = await world.call(path, { method: 'PATCH', body: { settings: 'text', country: 5 } })
      expect(body.code).toBe(400)
    }
  })

  test.each(['Mars/Olympus', '+01:00', ''])('the time zone "%s" is refused', async (timezone) => {
    const world = await givenApp(engine)

    const { status, body } = await world.call('/organization', { method: 'PATCH', body: { settings: { timezone } } })

    expect(status).toBe(400)
    expect(body.errors['settings.timezone']).toContain('Europe/Berlin')
  })

  test('a time zone is accepted in any letter case and stored in its usual one', async () => {
    const world = await givenApp(engine)
    for (const [input, stored] of [
      ['europe/berlin', 'Europe/Berlin'],
      ['ASIA/KOLKATA', 'Asia/Kolkata'],
      ['utc', 'UTC'],
    ]) {
      const body = { settings: { timezone: input } }
      expect((await world.call('/organization', { method: 'PATCH', body })).body.settings.timezone).toBe(stored)
    }
  })

  test('only existing countries and currencies are accepted', async () => {
    const world = await givenApp(engine)
    const change = (body: object) => world.call('/organization/billing', { method: 'PATCH', body })
    for (const country of ['GB', 'gr', 'XK', 'CD']) expect((await change({ country })).status).toBe(200)
    for (const country of ['XX', 'ZZ', 'UK', 'EU', 'SU', 'AA']) {
      expect((await change({ country })).body.errors.country).toContain('like DE or GB')
    }
    for (const currency of ['EUR', 'jpy']) expect((await change({ currency })).status).toBe(200)
    for (const currency of ['ZZZ', 'XTS', 'DEM']) {
      expect((await change({ currency, name: 5 })).body.errors).toEqual({
        currency: expect.stringContaining('like EUR or USD'),
        name: 'must be text or null, not 5.',
      })
    }
  })

  test('the slug of another organization is taken', async () => {
    const world = await givenApp(engine)
    await world.organization('Second')

    const taken = await world.call('/organization', { method: 'PATCH', body: { slug: 'second' } })

    expect(taken.status).toBe(409)
    expect((await world.call('/organization')).body.slug).toBe('first')
  })

  test('slugs cannot be tried one after the other to find those of other organizations', async () => {
    const world = await givenApp(engine)
    await world.organization('Second')
    const attempt = (slug: string) => world.call('/organization', { method: 'PATCH', body: { slug } })
    const statuses: number[] = []
    for (const slug of ['second', 'third', 'fourth', 'fifth', 'sixth', 'second'])
      statuses.push((await attempt(slug)).status)
    expect(statuses).toEqual([409, 200, 200, 200, 200, 429])
    expect((await world.call('/organization', { method: 'PATCH', body: { name: 'New' } })).status).toBe(200)
    world.pass(60_000)
    expect((await attempt('first')).status).toBe(200)
  })

  test('billing details are empty at first, absent fields keep their values, and null clears', async () => {
    const world = await givenApp(engine)
    const change = (body: object) => world.call('/organization/billing', { method: 'PATCH', body })
    expect(Object.values((await world.call('/organization/billing')).body)).toEqual(Array(10).fill(null))

    await change({ name: 'Acme GmbH', email: 'billing@example.com', country: 'de', currency: 'eur', line2: 'Hof' })
    expect((await change({ line2: null, city: 'Berlin' })).body).toEqual({
      name: 'Acme GmbH',
      email: 'billing@example.com',
      line1: null,
      line2: null,
      zipcode: null,
      city: 'Berlin',
      state: null,
      country: 'DE',
      vat: null,
      currency: 'EUR',
    })
    expect((await world.call('/organization/billing')).body.city).toBe('Berlin')

    const { body } = await change({ country: 'DEU', currency: 'euro', email: 'nobody', name: 5 })
    expect(body.errors).toEqual({
      name: 'must be text or null, not 5.',
      country: 'must be an ISO 3166-1 country code of two letters, not "DEU".',
      currency: 'must be an ISO 4217 currency code of three letters, not "euro".',
      email: 'must be an email address, not "nobody".',
    })
  })

  test('an organization reads and changes only its own details', async () => {
    const world = await givenApp(engine)
    const { key } = await world.organization('Second')

    await world.call('/organization', { key, method: 'PATCH', body: { name: 'Other' } })
    await world.call('/organization/billing', { key, method: 'PATCH', body: { city: 'Paris' } })

    expect((await world.call('/organization')).body.name).toBe('First')
    expect((await world.call('/organization/billing')).body.city).toBeNull()
  })

  test('every key can read the settings, only admin keys the billing details, and only they can change them', async () => {
    const world = await givenApp(engine)
    for (const role of ['read', 'write'] as const) {
      const { key } = await world.key(role)
      expect((await world.call('/organization/invoices', { key })).status).toBe(403)
      for (const [path, read] of [
        ['/organization', 200],
        ['/organization/billing', 403],
      ] as const) {
        expect((await world.call(path, { key })).status).toBe(read)
        expect((await world.call(path, { key, method: 'PATCH', body: { name: 'Mine' } })).status).toBe(403)
      }
    }
  })
})
