/** Messages of the YAML parser that end with a piece of the text: a tag, an alias, a header, an escape. */
const QUOTING =
  /^(unresolved tag|could not resolve tag|not a valid tag|unresolved alias|unknown directive|unsupported YAML version|block scalar header includes extra characters|invalid escape sequence)\b.*$/i;

/**
 * What a YAML parser says of a mistake, as the end of a sentence, without what it quotes: a password that begins with `*`, `!` or `|`
 * is one of the mistakes, and the place says enough.
 */
export const yamlFault = (message: string): string => {
  const [line = ''] = message.replace(/ at line \d+, column \d+:?/, '').split('\n');
  const said = line
    .replace(QUOTING, '$1')
    .replace(/^(verbatim tags aren't resolved), so .*$/i, '$1')
    .replace(/^the .* tag has no suffix$/i, 'a tag has no suffix');
  return said.slice(0, 1).toLowerCase() + said.slice(1);
};
