/** A literal character, or a run of any characters: 'part' stops at a slash, 'path' does not. */
type Token = string | { readonly run: 'part' | 'path' };

/**
 * Whether an image name, 'host/repository', matches a pattern: `*` matches any run of characters without a slash, `**` any
 * run, every other character itself. The time is bounded by the product of the two lengths.
 */
export const matchImage = (pattern: string, name: string): boolean => {
  const tokens = tokensOf(pattern);
  let states = withSkips(tokens, new Set([0]));
  for (const char of name) {
    const next = new Set<number>();
    for (const at of states) {
      const token = tokens[at];
      if (token === undefined) continue;
      if (typeof token !== 'string') {
        if (token.run === 'path' || char !== '/') next.add(at);
      } else if (token === char) next.add(at + 1);
    }
    if (next.size === 0) return false;
    states = withSkips(tokens, next);
  }
  return states.has(tokens.length);
};

const tokensOf = (pattern: string): readonly Token[] =>
  [...pattern.matchAll(/\*{1,2}|[^*]/gu)].map(([text]) => {
    if (text === '*') return { run: 'part' };
    return text === '**' ? { run: 'path' } : text;
  });

/** A run may be empty. */
const withSkips = (tokens: readonly Token[], states: ReadonlySet<number>): ReadonlySet<number> => {
  const all = new Set(states);
  for (const at of all) if (typeof tokens[at] === 'object') all.add(at + 1);
  return all;
};
