/** Messages of the YAML parser that end with a quotation of the text: a tag, an alias, a header, an escape. */
const QUOTING =
  /^(unresolved tag|could not resolve tag|not a valid tag|unresolved alias|unknown directive|unsupported YAML version|block scalar header includes extra characters|invalid escape sequence)\b.*$/i;

/**
 * Returns a YAML parser's message as the end of a sentence, without its quotations of the text: an unquoted password that begins with
 * `*`, `!` or `|` is a syntax error and would be in the message.
 */
export const yamlFault = (message: string): string => {
  const [line = ''] = message.replace(/ at line \d+, column \d+:?/, '').split('\n');
  const said = line
    .replace(QUOTING, '$1')
    .replace(/^(verbatim tags aren't resolved), so .*$/i, '$1')
    .replace(/^the .* tag has no suffix$/i, 'a tag has no suffix')
    .replace(
      /^source contains multiple documents.*$/i,
      'a second document begins here, where only one is read',
    );
  return said.slice(0, 1).toLowerCase() + said.slice(1);
};
