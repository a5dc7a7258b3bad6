import type { AuditedRequest } from './fixture.ts'

const SHOP = { full_domain: 'shop.example.com', record_type: 'CNAME', expected_value: 'stores.pages.example' }

export const SETUP_PAGE_REQUESTS: AuditedRequest[] = [
  {
    route: 'POST /setup-pages/:setup_page/renew',
    prepare: async (fixture) => {
      const body = { ...SHOP, until: 'valid', setup_page: 'customer-1' }
      const { setup_page } = (await fixture.send('POST', '/monitors', body)).body.wait
      fixture.ids['setup-page'] = setup_page.id
      fixture.secrets.push(setup_page.url.split('/').at(-1))
    },
    request: async (fixture) => {
      const renewed = await fixture.send('POST', `/setup-pages/${fixture.ids['setup-page']}/renew`)
      fixture.secrets.push(renewed.body.url.split('/').at(-1))
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
