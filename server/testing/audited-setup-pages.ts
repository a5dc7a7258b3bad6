import type { AuditedRequest } from './audited-world.ts'

const SHOP = { full_domain: 'shop.example.com', record_type: 'CNAME', expected_value: 'stores.pages.example' }

export const WITH_SETUP_PAGES: AuditedRequest[] = [
  {
    route: 'POST /setup-pages/:setup_page/renew',
    prepare: async (given) => {
      const body = { ...SHOP, until: 'valid', setup_page: 'customer-1' }
      const { setup_page } = (await given.send('POST', '/monitors', body)).body.wait
      given.ids['setup-page'] = setup_page.id
      given.secrets.push(setup_page.url.split('/').at(-1))
    },
    request: async (given) => {
      const renewed = await given.send('POST', `/setup-pages/${given.ids['setup-page']}/renew`)
      given.secrets.push(renewed.body.url.split('/').at(-1))
      return renewed
    },
    entry: { action: 'setup_page.renewed', label: 'customer-1' },
  },
  {
    route: 'DELETE /setup-pages/:setup_page',
    request: ({ send, ids }) => send('DELETE', `/setup-pages/${ids['setup-page']}`),
    entry: { action: 'setup_page.deleted', label: 'customer-1', after: null },
  },
]
