/** An authentication challenge (RFC 9110 section 11.6.1). Scheme and parameter names are in lower case. */
export type Challenge = { readonly scheme: string; readonly parameters: ReadonlyMap<string, string> };

const SEPARATOR = /[\s,]*/y;
const TOKEN = /[!#$%&'*+.^_`|~0-9A-Za-z-]+/y;
const VALUE = /\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~0-9A-Za-z:/?-]+))/sy;
const TOKEN68 = /[ \t]+[A-Za-z0-9._~+/-]+=*[ \t]*(?=,|$)/y;

/**
 * Parses the challenges of WWW-Authenticate, from one header or several joined by commas. A syntax error ends the list; the challenges
 * before it are returned.
 */
export const parseChallenges = (header: string): readonly Challenge[] => {
  const found: { scheme: string; parameters: Map<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    const match = pattern.exec(header);
    if (match) at = pattern.lastIndex;
    return match ?? undefined;
  };
  for (take(SEPARATOR); at < header.length; take(SEPARATOR)) {
    const name = take(TOKEN)?.[0].toLowerCase();
    if (name === undefined) break;
    const value = take(VALUE);
    const last = found.at(-1);
    if (!value && header.slice(at).trimStart().startsWith('=')) break;
    if (!value) {
      found.push({ scheme: name, parameters: new Map() });
      take(TOKEN68);
    } else if (last && !last.parameters.has(name)) {
      last.parameters.set(name, value[1]?.replaceAll(/\\(.)/gs, '$1') ?? value[2] ?? '');
    }
  }
  return found;
};
