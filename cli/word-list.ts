/**
 * The words of a key that takes several. Of the command line oclif makes a list; what the environment says it hands over as one
 * text.
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
