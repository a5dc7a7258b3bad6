import { COLUMN_TITLES, COLUMNS, type Picture, type PictureEdge, type PictureNode } from './delegation-model.ts'

/** In pixels of the drawing. `x`, `y`: of the upper left corner. */
export type PlacedNode = PictureNode & { x: number; y: number; width: number; height: number }
export type PlacedEdge = PictureEdge & { d: string }
export type Layout = {
  width: number
  height: number
  titles: { text: string; x: number }[]
  nodes: PlacedNode[]
  edges: PlacedEdge[]
}

const WIDTHS: Record<PictureNode['column'], number> = {
  zones: 200,
  'name servers': 228,
  answers: 236,
  resolvers: 176,
}
const GAP_X = 56
const GAP_Y = 12
const ZONE_GAP_Y = 28
const TITLE_HEIGHT = 34
const LINE_HEIGHT = 16
const HEADING_HEIGHT = 26

/** Columns from left to right, each in the middle. Pure. */
export function layout({ nodes, edges }: Picture): Layout {
  const columns = COLUMNS.map((column) => ({ column, nodes: nodes.filter((node) => node.column === column) })).filter(
    ({ nodes }) => nodes.length > 0,
  )
  const heights = columns.map(({ column, nodes }) => columnHeight(column, nodes))
  const height = Math.max(...heights)
  const titles: Layout['titles'] = []
  const placed = new Map<string, PlacedNode>()
  let x = 0
  for (const [index, { column, nodes }] of columns.entries()) {
    titles.push({ text: COLUMN_TITLES[column], x })
    let y = HEADING_HEIGHT + (height - heights[index]!) / 2
    for (const node of nodes) {
      const size = { width: WIDTHS[column], height: nodeHeight(node) }
      placed.set(node.id, { ...node, ...size, x, y })
      y += size.height + gapOf(column)
    }
    x += WIDTHS[column] + GAP_X
  }
  return {
    width: x - GAP_X,
    height: HEADING_HEIGHT + height,
    titles,
    nodes: [...placed.values()],
    edges: edges.flatMap((edge) => {
      const [from, to] = [placed.get(edge.from), placed.get(edge.to)]
      return from && to ? [{ ...edge, d: pathBetween(from, to) }] : []
    }),
  }
}

const gapOf = (column: PictureNode['column']) => (column === 'zones' ? ZONE_GAP_Y : GAP_Y)

const nodeHeight = ({ lines, sign }: PictureNode) => TITLE_HEIGHT + LINE_HEIGHT * (lines.length + (sign ? 1 : 0))

const columnHeight = (column: PictureNode['column'], nodes: readonly PictureNode[]) =>
  nodes.reduce((sum, node) => sum + nodeHeight(node), 0) + gapOf(column) * (nodes.length - 1)

function pathBetween(from: PlacedNode, to: PlacedNode): string {
  if (from.column === to.column) return `M${from.x + 24} ${from.y + from.height} L${to.x + 24} ${to.y}`
  const [left, right] = from.x < to.x ? [from, to] : [to, from]
  const [startX, endX] = [left.x + left.width, right.x]
  const [startY, endY] = [left.y + left.height / 2, right.y + right.height / 2]
  const middle = (startX + endX) / 2
  return `M${startX} ${startY} C${middle} ${startY} ${middle} ${endY} ${endX} ${endY}`
}

/** The node that an arrow key leads to: up and down in the column, left and right along an edge, or else to the next column. */
export function neighbor({ nodes, edges }: Layout, from: PlacedNode, key: string): PlacedNode | undefined {
  const column = nodes.filter((node) => node.column === from.column)
  const at = column.indexOf(from)
  if (key === 'ArrowDown') return column[at + 1]
  if (key === 'ArrowUp') return column[at - 1]
  if (key !== 'ArrowLeft' && key !== 'ArrowRight') return undefined
  const isThere = (node: PlacedNode) => (key === 'ArrowRight' ? node.x > from.x : node.x < from.x)
  const linked = edges.flatMap((edge) => (edge.from === from.id ? [edge.to] : edge.to === from.id ? [edge.from] : []))
  const next = nodes.find((node) => linked.includes(node.id) && isThere(node))
  if (next) return next
  const there = nodes.filter(isThere)
  return key === 'ArrowRight' ? there[0] : there.at(-1)
}
