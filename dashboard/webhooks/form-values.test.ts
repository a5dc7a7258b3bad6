import { expect, test } from 'vitest'
import type { Webhook } from '#contract/webhooks.ts'
import { changedPart } from '../edit/rebase.ts'
import { emptyForm, fieldsOf, formOf, newWebhookOf, type WebhookForm } from './form-values.ts'

const changeOf = (before: Webhook, form: WebhookForm) => changedPart(fieldsOf(String), formOf(before), form)

const webhook: Webhook = {
  id: 'whk_1',
  created: '2026-01-01T00:00:00.000Z',
  url: 'https://hooks.example.com/dns',
  secret: '********abcd',
  headers: { 'X-Team': 'operations', Authorization: 'Bearer 1' },
  groups: ['grp_1', 'grp_2'],
  is_active: true,
  state: 'active',
  last_error: null,
  last_executed: null,
}

test('an unchanged form sends nothing, whatever the order of the groups', () => {
  expect(changeOf(webhook, { ...formOf(webhook), groups: ['grp_2', 'grp_1'] })).toEqual({})
})

test('only changed fields are sent', () => {
  const form = formOf(webhook)
  expect(changeOf(webhook, { ...form, url: ' https://hooks.example.com/v2 ' })).toEqual({
    url: 'https://hooks.example.com/v2',
  })
  expect(changeOf(webhook, { ...form, groups: [] })).toEqual({ groups: [] })
  expect(changeOf(webhook, { ...form, isOfAll: true })).toEqual({ all_groups: true })
  expect(changeOf({ ...webhook, all_groups: true }, { ...form, isOfAll: false })).toEqual({ all_groups: false })
  expect(changeOf(webhook, { ...form, headers: form.headers.slice(1) })).toEqual({
    headers: { Authorization: 'Bearer 1' },
  })
})

test('additional payload fields are sent only if they changed, whatever their order', () => {
  const including = { ...webhook, payload_includes: ['tags', 'difference'] }
  expect(changeOf(including, { ...formOf(including), includes: ['difference', 'tags'] })).toEqual({})
  expect(changeOf(including, { ...formOf(including), includes: [] })).toEqual({ payload_includes: [] })
  expect(changeOf(webhook, { ...formOf(webhook), includes: ['group'] })).toEqual({ payload_includes: ['group'] })
  expect(newWebhookOf(formOf(webhook))).not.toHaveProperty('payload_includes')
  expect(newWebhookOf(formOf(including)).payload_includes).toEqual(['tags', 'difference'])
})

test('batch settings are sent only if batches are or were on', () => {
  const batch = { max_events: 100, max_wait_seconds: 5 }
  const form = formOf(webhook)
  expect(changeOf(webhook, { ...form, isBatched: true })).toEqual({ batch })
  expect(changeOf(webhook, { ...form, batch: { max_events: '7', max_wait_seconds: '0' } })).toEqual({})
  const batched = { ...webhook, batch }
  expect(changeOf(batched, formOf(batched))).toEqual({})
  expect(changeOf(batched, { ...formOf(batched), isBatched: false })).toEqual({ batch: null })
  const typed = { ...formOf(batched), batch: { max_events: '7', max_wait_seconds: '0' } }
  expect(changeOf(batched, typed)).toEqual({ batch: { max_events: 7, max_wait_seconds: 0 } })
  expect(newWebhookOf({ ...typed, isBatched: false })).not.toHaveProperty('batch')
  expect(newWebhookOf(typed).batch).toEqual({ max_events: 7, max_wait_seconds: 0 })
})

test('headers without a name and an empty secret are not sent', () => {
  const form = { ...emptyForm(['grp_1']), url: 'https://a.example', headers: [{ key: 0, name: ' ', value: 'x' }] }
  expect(newWebhookOf(form)).toEqual({ url: 'https://a.example', groups: ['grp_1'], headers: {} })
  expect(newWebhookOf({ ...form, isOfAll: true }).all_groups).toBe(true)
  expect(newWebhookOf({ ...form, secret: 'my own secret of old' }).secret).toBe('my own secret of old')
})
