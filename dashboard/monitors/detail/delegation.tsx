import { Download } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import type { Delegation, DiagnosisPath } from '#contract/diagnosis.ts'
import type { Warning } from '#contract/warnings.ts'
import { saveBlob, savePng, svgFile } from '../../download.ts'
import { Button } from '../../ui/button.tsx'
import { Menu, MenuItem } from '../../ui/menu.tsx'
import { TONE_TEXT, type Tone } from '../../ui/state.tsx'
import { useIsWide } from '../../ui/use-min-width.ts'
import { type Layout, layout, neighbor, type PlacedNode } from './delegation-layout.ts'
import { COLUMN_TITLES, COLUMNS, delegationPicture, type Picture } from './delegation-model.ts'

type Props = {
  evidence: { delegation?: Delegation; paths: readonly DiagnosisPath[] }
  name: string
  isValid: boolean | undefined
  warnings: readonly Warning[]
}

/** Who answers for the name, from the root down to the records: a drawing, or a list on a phone. */
export function DelegationPicture({ evidence, ...shown }: Props) {
  const isWide = useIsWide()
  const picture = delegationPicture(evidence, shown)
  if (!picture) return null
  return isWide ? <Drawing picture={picture} name={shown.name} /> : <AsList picture={picture} />
}

/** Arrow keys go from box to box, which is read aloud, and shown below the drawing. */
function Drawing({ picture, name }: { picture: Picture; name: string }) {
  const placed = layout(picture)
  const svg = useRef<SVGSVGElement>(null)
  const boxes = useRef(new Map<string, SVGGElement>())
  const [current, setCurrent] = useState<string>()
  const { width, height, titles, nodes, edges } = placed
  const entry = nodes.find(({ id }) => id === current) ?? firstInTrouble(placed)
  const onKeyDown = (event: KeyboardEvent) => {
    const next = neighbor(placed, entry, event.key)
    if (!next) return
    event.preventDefault()
    boxes.current.get(next.id)?.focus()
  }
  const file = `delegation-${name || 'root'}`
  return (
    <div className="flex flex-col gap-3 p-4">
      <div
        role="listbox"
        aria-label={`Delegation of ${name || 'the root'}. Arrow keys go from one server to the next.`}
        tabIndex={-1}
        onKeyDown={onKeyDown}
        className="overflow-x-auto"
      >
        <svg
          ref={svg}
          viewBox={`-2 -2 ${width + 4} ${height + 4}`}
          // Never larger than drawn, so that all text has one size.
          style={{ width: '100%', minWidth: 820, maxWidth: width + 4 }}
          role="presentation"
        >
          {titles.map(({ text, x }) => (
            <text key={text} x={x} y={11} fontSize={11.5} fontFamily={SANS} fill="var(--faint)">
              {text}
            </text>
          ))}
          {edges.map(({ from, to, d, tone, isCached }) => (
            <path
              key={`${from} ${to}`}
              d={d}
              fill="none"
              stroke={EDGE_COLORS[tone]}
              strokeWidth={tone === 'bad' || tone === 'warn' ? 2 : 1.5}
              strokeDasharray={isCached ? '4 4' : undefined}
            />
          ))}
          {nodes.map((node) => (
            <Box
              key={node.id}
              node={node}
              isEntry={node === entry}
              isCurrent={node.id === current}
              onCurrent={() => setCurrent(node.id)}
              register={(element) => {
                if (element) boxes.current.set(node.id, element)
                else boxes.current.delete(node.id)
              }}
            />
          ))}
        </svg>
      </div>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <p className="min-h-10 min-w-0 flex-1 text-sm break-words text-soft" aria-hidden="true">
          {current !== undefined || entry.tone === 'bad' || entry.tone === 'warn'
            ? entry.sentence
            : 'Point at a box, or use the arrow keys, to read what was said.'}
        </p>
        <Menu
          trigger={
            <Button size="sm" variant="quiet">
              <Download aria-hidden="true" />
              Save picture
            </Button>
          }
        >
          <MenuItem onSelect={() => saveBlob(`${file}.svg`, svgFile(svg.current!))}>As SVG</MenuItem>
          <MenuItem onSelect={() => void savePng(`${file}.png`, svg.current!)}>As PNG</MenuItem>
        </Menu>
      </div>
    </div>
  )
}

/** What is wrong is read first. */
function firstInTrouble({ nodes }: Layout): PlacedNode {
  return nodes.find(({ tone }) => tone === 'bad') ?? nodes.find(({ tone }) => tone === 'warn') ?? nodes[0]!
}

function Box({
  node,
  isEntry,
  isCurrent,
  onCurrent,
  register,
}: {
  node: PlacedNode
  isEntry: boolean
  isCurrent: boolean
  onCurrent(): void
  register(element: SVGGElement | null): void
}) {
  const { x, y, width, height, title, lines, tone, sign, sentence } = node
  const isAnswer = node.column === 'answers'
  const isTrouble = tone === 'bad' || tone === 'warn'
  const shownTitle = fitted(title, width - 36, 7.6)
  const own = lines.map((text) => ({
    text: fitted(text, width - 36, 7),
    fill: isAnswer ? 'var(--ink)' : 'var(--faint)',
    isSign: false,
  }))
  const signs = sign ? [{ text: sign, fill: `var(--${tone})`, isSign: true }] : []
  const texts = isAnswer ? [...own, ...signs] : [...signs, ...own]
  return (
    <g
      ref={register}
      role="option"
      aria-selected={isCurrent}
      // What is written in the box, so that it can be called by that, and all of it.
      aria-label={`${[shownTitle, ...texts.map(({ text }) => text)].join(' ')}. ${sentence}`}
      // One stop of the Tab key; arrow keys from there.
      tabIndex={isEntry ? 0 : -1}
      transform={`translate(${x} ${y})`}
      onFocus={onCurrent}
      onPointerEnter={onCurrent}
      style={{ outline: 'none' }}
    >
      <rect
        width={width}
        height={height}
        rx={8}
        fill={isTrouble ? `var(--${tone}-wash)` : 'var(--surface)'}
        stroke={isCurrent ? 'var(--accent)' : isTrouble ? `var(--${tone})` : 'var(--line)'}
        strokeWidth={isCurrent ? 2 : 1}
      />
      <circle cx={14} cy={17} r={4} fill={`var(--${tone})`} />
      <text x={26} y={21.5} fontSize={12.5} fontWeight={500} fontFamily={MONO} fill="var(--ink)">
        {shownTitle}
      </text>
      {texts.map(({ text, fill, isSign }, index) => (
        <text
          key={index}
          x={26}
          y={38 + 16 * index}
          fontSize={11.5}
          fontWeight={isSign ? 600 : 400}
          fontFamily={isSign ? SANS : MONO}
          fill={fill}
        >
          {/* The space separates the lines for assistive technology. */}
          {` ${text}`}
        </text>
      ))}
    </g>
  )
}

const MONO = 'Geist Mono Variable, ui-monospace, monospace'
const SANS = 'Geist Variable, ui-sans-serif, system-ui, sans-serif'
const EDGE_COLORS: Record<Tone, string> = {
  good: 'var(--good)',
  bad: 'var(--bad)',
  warn: 'var(--warn)',
  idle: 'var(--edge)',
}

/** As much of the text as has limit. The middle of a name says least. */
function fitted(text: string, width: number, character: number): string {
  const limit = Math.floor(width / character)
  if (text.length <= limit) return text
  const end = Math.floor((limit - 1) / 2)
  return `${text.slice(0, limit - 1 - end)}…${text.slice(text.length - end)}`
}

function AsList({ picture: { nodes } }: { picture: Picture }) {
  return (
    <div className="flex flex-col gap-3 px-4 py-3">
      {COLUMNS.map((column) => ({ column, own: nodes.filter((node) => node.column === column) }))
        .filter(({ own }) => own.length > 0)
        .map(({ column, own }) => (
          <div key={column}>
            <h3 className="text-xs text-faint">{COLUMN_TITLES[column]}</h3>
            <ul className="mt-1 flex flex-col gap-1.5">
              {own.map(({ id, sentence, sign, tone }) => (
                <li key={id} className="text-sm break-words text-soft">
                  {sign && <span className={`font-semibold ${TONE_TEXT[tone]}`}>{sign}: </span>}
                  {sentence}
                </li>
              ))}
            </ul>
          </div>
        ))}
    </div>
  )
}
