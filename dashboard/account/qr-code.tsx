import qrcode from 'qrcode-generator'

/** Dark on white in both themes, as cameras expect. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = qrcode(0, 'M')
  code.addData(text)
  code.make()
  const size = code.getModuleCount()
  const cells: string[] = []
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) if (code.isDark(row, column)) cells.push(`M${column} ${row}h1v1h-1z`)
  }
  return (
    <svg
      viewBox={`-3 -3 ${size + 6} ${size + 6}`}
      role="img"
      aria-label={label}
      className="mx-auto size-52 rounded-md bg-white"
    >
      <path d={cells.join('')} fill="#000" />
    </svg>
  )
}
