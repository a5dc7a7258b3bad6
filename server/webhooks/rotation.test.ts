import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDeliveries } from '../testing/deliveries.ts'
import { rotateSecret } from './webhook-store.ts'

onBothEngines('a webhook whose secret is rotated', (fresh) => {
  test('signs with the latest two secrets after two rotations within the grace', async () => {
    const { db, keyring, organizationId, clock, ...world } = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    for (const secret of ['the second secret', 'the third secret']) {
      await rotateSecret(db, keyring, systemContext(organizationId, clock.now()), webhook.id, {
        secret,
        graceHours: 24,
      })
    }

    await world.events()
    await world.settle()

    const [{ headers, body, id }] = webhook.sent() as [ReturnType<typeof webhook.sent>[number]]
    const signed = `${id}.${headers['webhook-timestamp']}.${body}`
    const by = (secret: string) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`
    expect(headers['webhook-signature']).toBe(`${by('the third secret')} ${by('the second secret')}`)
  })
})
