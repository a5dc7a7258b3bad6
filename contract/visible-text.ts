// DNS data, names and labels that people read, on pages, in messages, in the terminal.

/**
 * Control characters, marks that change the direction of text, what has no shape, and spaces that look like U+0020. Joiners and variation selectors are part of emoji
 * and of scripts such as Arabic, and stay there.
 */
const HIDDEN =
  /[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u2000-\u200a\u202f\u205f]--[\u200c\u200d\ufe0e\ufe0f]]|(?<![\p{Extended_Pictographic}\p{Emoji_Modifier}\p{M}\p{Script=Arabic}])[\u200c\u200d\ufe0e\ufe0f]/gv

/** `U+202E`. */
export const codePointText = (character: string): string =>
  `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

/** The text in one line, in which hidden characters are shown: `<U+202E>`. The one function for everything that people read. */
export const visible = (text: string): string => text.replace(HIDDEN, (character) => `<${codePointText(character)}>`)

/** Like `visible`, for a text of several lines. */
export const visibleLines = (text: string): string => text.replace(/[^\r\n\t]+/g, visible)

/** JSON whose hidden characters are escaped, so that a terminal shows them and a program reads the same value. */
export const visibleJson = (value: unknown): string =>
  JSON.stringify(value).replace(HIDDEN, (character) =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
