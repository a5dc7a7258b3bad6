/**
 * The folder above `server/`: the repository, or the package, whose files of `server/` are bundled into few. What is read beside them (the
 * built dashboard, the documentation) is found from here.
 */
export const PROJECT_FOLDER = new URL('../', import.meta.url)
