import { readFile } from 'node:fs/promises'
import { PROJECT_FOLDER } from '../../project-folder.ts'

const FOLDER = new URL('docs/reference/', PROJECT_FOLDER)

export type Guide = { description: string; tags: { name: string; description: string }[] }

/** The reference pages as descriptions, because many readers see only the API reference. */
export async function readGuide(): Promise<Guide> {
  const files = [
    'api.md',
    'states.md',
    'matching.md',
    'webhooks.md',
    'alerts.md',
    'jobs.md',
    'setup-pages.md',
    'zones.md',
  ]
  const [api, states, matching, webhooks, alerts, jobs, setupPages, zones] = await Promise.all(files.map(textOf))
  return {
    description: `Zonewatch monitors DNS records and reports changes. [Documentation](/docs)\n\n${api}`,
    tags: [
      { name: 'Monitors', description: `${states}\n\n${matching}` },
      {
        name: 'Views',
        description: 'Saved lists of monitors: filters, order, columns and density, shared with the team.',
      },
      { name: 'Zones', description: zones! },
      { name: 'Jobs', description: jobs! },
      { name: 'Groups', description: 'Every monitor is in one group. A webhook receives the changes in its groups.' },
      { name: 'Events', description: 'Confirmed changes with their evidence. Only checks create events.' },
      { name: 'Webhooks', description: webhooks! },
      { name: 'Alerts', description: alerts! },
      { name: 'Setup pages', description: setupPages! },
      { name: 'API keys', description: 'The keys of the organization: role, expiry, limits and rotation.' },
      { name: 'Agents', description: 'The members of the organization and open invitations.' },
      { name: 'Organization', description: 'Settings, billing and the plan.' },
      { name: 'Health', description: 'For the operator of the server. These endpoints need no key.' },
    ],
  }
}

/** Without the title, and without diagrams, which the API reference cannot draw. Links point to the pages below `/docs`. */
async function textOf(file: string): Promise<string> {
  const text = await readFile(new URL(file, FOLDER), 'utf8')
  return text
    .replace(/^# .*\n+/, '')
    .replaceAll(/^```mermaid\n[^`]*```\n+/gm, '')
    .replaceAll(/\]\(([\w./-]+(?:#[\w-]+)?)\)/g, (link, path: string) =>
      path.startsWith('/') ? link : `](${pageOf(path)})`,
    )
}

/** The path below `/docs` for a link in `docs/reference/`. */
function pageOf(link: string): string {
  const { pathname, hash } = new URL(link, 'http://docs/docs/reference/')
  return pathname.replace(/(?:\/README)?\.md$/, '') + hash
}
