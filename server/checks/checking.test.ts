import { expect, test } from 'vitest'
import { givenChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'

onBothEngines('checking', (fresh) => {
  test('the first outcome is an event from UNSET without a previous value, and no incident', async () => {
    const { set, monitor, check, read, events } = await givenChecks(await fresh())
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    expect(await check({ afterMs: 0 })).toBe(1)
    expect(await read(id)).toMatchObject({ state: 'VALID', current_value: ['192.0.2.1'], incidence_count: 0 })
    const [event] = await events(id)
    expect(event).toMatchObject({
      old_state: 'UNSET',
      new_state: 'VALID',
      incidence_count: 1,
      current_value: ['192.0.2.1'],
    })
    expect(event).not.toHaveProperty('previous_value')
  })

  test('a check that finds nothing new moves last_checked and does not touch the monitor', async () => {
    const db = await fresh()
    const { set, monitor, check, read } = await givenChecks(db)
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    const before = await read(id)
    const wide = await db.selectFrom('monitors').selectAll().execute()
    expect(await check()).toBe(0)
    expect(await db.selectFrom('monitors').selectAll().execute()).toEqual(wide)
    expect((await read(id)).last_checked! > before.last_checked!).toBe(true)
  })

  test('each change of state or of values makes exactly one event, and the chain has no gap', async () => {
    const { set, servers, monitor, check, events, read } = await givenChecks(await fresh())
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    set('www.example.com', 'A', ['192.0.2.9'])
    await check()
    await check()
    set('www.example.com', 'A', ['192.0.2.8', '192.0.2.9'])
    await check()
    servers[0]!.remove('www.example.com', 'A')
    await check()
    set('www.example.com', 'A', ['192.0.2.1'])
    await check()
    const found = await events(id)
    expect(found.map(({ old_state, new_state, incidence_count }) => [old_state, new_state, incidence_count])).toEqual([
      ['UNSET', 'VALID', 1],
      ['VALID', 'MISMATCH', 1],
      ['MISMATCH', 'MISMATCH', 3],
      ['MISMATCH', 'NOT_FOUND', 1],
      ['NOT_FOUND', 'VALID', 1],
    ])
    expect(found.map((event) => event.current_value)).toEqual([
      ['192.0.2.1'],
      ['192.0.2.9'],
      ['192.0.2.8', '192.0.2.9'],
      [],
      ['192.0.2.1'],
    ])
    for (const [index, event] of found.entries()) expect(event.previous_value).toEqual(found[index - 1]?.current_value)
    expect(await read(id)).toMatchObject({ state: 'VALID', incidence_count: 4 })
  })

  test.each([
    ['SERVFAIL', 'INVALID'],
    ['REFUSED', 'INVALID'],
  ] as const)('%s is %s, keeps the value and its event has no current value', async (rcode, state) => {
    const { set, each, monitor, check, events, read } = await givenChecks(await fresh())
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    each((server) => server.fail('www.example.com', rcode))
    await check()
    expect(await read(id)).toMatchObject({ state, current_value: ['192.0.2.1'] })
    const last = (await events(id)).at(-1)!
    expect(last).toMatchObject({ new_state: state, previous_value: ['192.0.2.1'] })
    expect(last).not.toHaveProperty('current_value')
  })

  test('silence is TIMEOUT, an existing name without the type NO_DATA, a CNAME loop BAD_SETUP', async () => {
    const { set, each, monitor, check, read } = await givenChecks(await fresh())
    set('mail.example.com', 'A', ['192.0.2.1'])
    set('a.example.com', 'CNAME', ['b.example.com'])
    set('b.example.com', 'CNAME', ['a.example.com'])
    each((server) => server.drop('silent.example.com'))
    const silent = await monitor({ full_domain: 'silent.example.com', record_type: 'A', expected_value: '192.0.2.1' })
    const empty = await monitor({ full_domain: 'mail.example.com', record_type: 'AAAA', expected_value: '2001:db8::1' })
    const loop = await monitor({ full_domain: 'a.example.com', record_type: 'A', expected_value: '192.0.2.1' })
    await check()
    expect(await read(silent)).toMatchObject({ state: 'TIMEOUT', current_value: null })
    expect(await read(empty)).toMatchObject({ state: 'NO_DATA', current_value: [] })
    expect(await read(loop)).toMatchObject({ state: 'BAD_SETUP', current_value: null })
  })

  test('one resolver that lies makes no event, whatever the other one says', async () => {
    const { servers, set, monitor, check, events } = await givenChecks(await fresh(), { resolvers: 3 })
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    servers[0]!.set('www.example.com', 'A', ['203.0.113.66'])
    for (let round = 0; round < 6; round++) await check()
    servers[0]!.fail('www.example.com', 'SERVFAIL')
    for (let round = 0; round < 6; round++) await check()
    expect((await events(id)).map((event) => event.new_state)).toEqual(['VALID'])
  })

  test('one of four addresses at random from two resolvers is VALID as soon as all were seen', async () => {
    const db = await fresh()
    const { servers, monitor, check, read } = await givenChecks(db, { resolvers: 2 })
    const addresses = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4']
    const id = await monitor({ record_type: 'A', expected_value: addresses })
    const states: string[] = []
    for (const [one, other] of [
      [0, 1],
      [1, 0],
      [2, 1],
      [0, 3],
      [3, 1],
    ] as const) {
      servers[0]!.set('www.example.com', 'A', [addresses[one]!], { ttl: 60 })
      servers[1]!.set('www.example.com', 'A', [addresses[other]!], { ttl: 60 })
      await db.updateTable('due_checks').set({ due_at: 0 }).execute()
      await check({ afterMs: 10_000 })
      states.push((await read(id)).state)
    }
    expect(states).toEqual(['UNSET', 'UNSET', 'UNSET', 'VALID', 'VALID'])
    expect((await read(id)).current_value).toEqual(addresses)
  })

  test('checks that somebody starts do not count as waits while the resolvers disagree', async () => {
    const db = await fresh()
    const { servers, set, monitor, check } = await givenChecks(db, { resolvers: 2 })
    set('www.example.com', 'A', ['192.0.2.1'])
    await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    for (const server of servers) server.set('www.example.com', 'A', ['192.0.2.9'])
    servers[0]!.fail('www.example.com', 'NXDOMAIN')
    const counts: number[] = []
    for (const afterMs of [360_000, 2_000, 2_000, 2_000, 2_000, 30_000, 2_000, 60_000]) {
      await db.updateTable('due_checks').set({ due_at: 0 }).execute()
      expect(await check({ afterMs })).toBe(0)
      const { inconclusive_count } = await db
        .selectFrom('due_checks')
        .select('inconclusive_count')
        .executeTakeFirstOrThrow()
      counts.push(inconclusive_count)
    }
    expect(counts).toEqual([1, 1, 1, 1, 1, 2, 2, 3])
  })

  test('paths that keep disagreeing make no event at first and never one without a majority', async () => {
    const { servers, set, monitor, check, events } = await givenChecks(await fresh(), { resolvers: 2 })
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    servers[1]!.set('www.example.com', 'A', ['192.0.2.2'])
    for (let round = 0; round < 10; round++) await check({ afterMs: 121_000 })
    expect(await events(id)).toHaveLength(1)
    servers[0]!.set('www.example.com', 'A', ['192.0.2.2'])
    await check()
    expect((await events(id)).map((event) => event.new_state)).toEqual(['VALID', 'MISMATCH'])
  })

  test('many monitors of one name ask once for all, and each has its event', async () => {
    const { set, servers, monitor, check, events } = await givenChecks(await fresh())
    set('www.example.com', 'A', ['192.0.2.1'])
    const ids: string[] = []
    for (let at = 0; at < 50; at++) {
      ids.push(await monitor({ record_type: 'A', expected_value: [`192.0.2.${at}`] }))
    }
    await check({ afterMs: 0 })
    set('www.example.com', 'A', ['192.0.2.2'])
    await check()
    for (const id of ids) expect(await events(id)).toHaveLength(2)
    const before = servers[0]!.queries.total
    await check()
    expect(servers[0]!.queries.total - before).toBe(1)
    expect(before).toBeLessThan(2 * ids.length)
  })

  test('a flexible CNAME is met by any name on the chain, one question a link', async () => {
    const { set, monitor, check, read } = await givenChecks(await fresh())
    set('www.example.com', 'CNAME', ['edge.example.net'])
    set('edge.example.net', 'CNAME', ['pop.example.org'])
    set('pop.example.org', 'A', ['192.0.2.1'])
    const flexible = await monitor({ record_type: 'CNAME', expected_value: 'pop.example.org', is_exact_match: false })
    const exact = await monitor({ record_type: 'CNAME', expected_value: 'pop.example.org' })
    await check()
    expect(await read(flexible)).toMatchObject({ state: 'VALID', current_value: ['edge.example.net'] })
    expect(await read(exact)).toMatchObject({ state: 'MISMATCH', current_value: ['edge.example.net'] })
  })

  test('a check whose lease was taken by another records nothing', async () => {
    const db = await fresh()
    const { set, monitor, check, events } = await givenChecks(db)
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    const checking = check()
    await db.updateTable('due_checks').set({ claimed_by: 2 }).where('claimed_by', 'is', null).execute()
    await checking
    expect((await events(id)).length).toBeLessThanOrEqual(1)
  })

  test('the evidence of a change names server, transport, rcode and answer', async () => {
    const { set, servers, monitor, check, read } = await givenChecks(await fresh())
    set('www.example.com', 'A', ['192.0.2.7'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    const { diagnosis } = await read(id)
    expect(diagnosis).toMatchObject({
      reason: expect.stringContaining('192.0.2.7'),
      paths: [
        {
          server: `127.0.0.1:${servers[0]!.address.port}`,
          transport: 'udp',
          rcode: 'NOERROR',
          outcome: { kind: 'answer' },
        },
        { transport: 'udp' },
      ],
    })
  })

  test('a suspicion that comes to what is recorded makes no event, and its evidence is kept', async () => {
    const { set, servers, monitor, check, read, events } = await givenChecks(await fresh(), { resolvers: 3 })
    set('www.example.com', 'A', ['192.0.2.1'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    servers[1]!.set('www.example.com', 'A', ['203.0.113.66'])
    for (let round = 0; round < 6; round++) await check()
    expect(await events(id)).toHaveLength(1)
    const { state, diagnosis, reason } = await read(id)
    expect(state).toBe('VALID')
    expect(JSON.stringify(diagnosis)).toContain('203.0.113.66')
    expect(diagnosis).toMatchObject({ reason: 'www.example.com answers 192.0.2.1, as expected.' })
    expect(reason).toEqual(diagnosis!.verdict)
    expect(reason).toMatchObject({ code: 'as_expected', params: { matched: ['192.0.2.1'], missing: [] } })
  })

  test('while our own network fails nothing is recorded, and checks go on within 10 s of its return', async () => {
    const db = await fresh()
    const { set, each, monitor, check, read, events, notices } = await givenChecks(db, { canary: 'canary.example.org' })
    set('www.example.com', 'A', ['192.0.2.1'])
    set('canary.example.org', 'A', ['192.0.2.200'])
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    const before = await read(id)
    each((server) => server.drop('*'))
    for (let round = 0; round < 5; round++) await check({ afterMs: 10_000 + (round === 0 ? 360_000 : 0) })
    expect(await read(id)).toEqual(before)
    expect(notices).toEqual(['outage'])
    each((server) => server.recover('*'))
    set('www.example.com', 'A', ['192.0.2.2'])
    await check({ afterMs: 10_000 })
    expect((await events(id)).map((event) => event.new_state)).toEqual(['VALID', 'MISMATCH'])
    await expect.poll(() => notices).toEqual(['outage', 'recovery'])
  })

  test('a first check without a result says that our own network fails, once, and the next one replaces it', async () => {
    const db = await fresh()
    const { set, each, monitor, check, read } = await givenChecks(db, { canary: 'canary.example.org' })
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    each((server) => server.drop('*'))
    await check()
    const { state, last_checked, diagnosis } = await read(id)
    expect([state, last_checked]).toEqual(['UNSET', null])
    expect(diagnosis).toMatchObject({
      verdict: { code: 'not_certain' },
      latest: { confirmation: [{ code: 'own_network_down' }] },
      pending: true,
    })
    // It repeats every few seconds until the network is back.
    expect(diagnosis).not.toHaveProperty('next_at')
    await check({ afterMs: 10_000 })
    expect((await read(id)).diagnosis).toEqual(diagnosis)

    each((server) => server.recover('*'))
    set('www.example.com', 'A', ['192.0.2.1'])
    await check({ afterMs: 10_000 })
    expect(await read(id)).toMatchObject({ state: 'VALID', diagnosis: { verdict: { code: 'as_expected' } } })
  })

  test('a failure while the canary sings is recorded', async () => {
    const { set, each, monitor, check, read } = await givenChecks(await fresh(), { canary: 'canary.example.org' })
    set('canary.example.org', 'A', ['192.0.2.200'])
    each((server) => server.fail('www.example.com', 'SERVFAIL'))
    const id = await monitor({ record_type: 'A', expected_value: ['192.0.2.1'] })
    await check()
    expect((await read(id)).state).toBe('INVALID')
  })
})
