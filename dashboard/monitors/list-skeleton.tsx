/** The shape of the first rows, in their place. */
export function ListSkeleton() {
  return (
    <div role="status" aria-label="Loading monitors">
      <div className="hidden h-9 border-b border-line md:block" />
      {Array.from({ length: 12 }, (_, line) => (
        <div key={line} className="flex h-16 items-center gap-6 border-line px-4 not-last:border-b md:h-12">
          <div className="skeleton h-4 w-20" />
          <div className="skeleton h-4 flex-1" />
          <div className="skeleton hidden h-4 w-40 md:block" />
          <div className="skeleton hidden h-4 w-24 md:block" />
        </div>
      ))}
    </div>
  )
}
