import { Dialog } from '@base-ui/react/dialog'

export function Palette({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Popup>{null}</Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
