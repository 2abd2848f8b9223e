/**
 * The values of a flag that takes several. From the command line oclif passes a list, from the environment one text.
 */
export const wordList = (
  given: readonly string[] | string | undefined,
  separator: ',' | ';',
): readonly string[] | undefined =>
  typeof given === 'string'
    ? given
        .split(separator)
        .map((word) => word.trim())
        .filter((word) => word !== '')
    : given;
