/** Flags for the names that people give as arguments. A channel is the only one with a '/'. */
const PLAIN = ['environment', 'site', 'workload', 'agent'];
const NAME = /^[a-z0-9][a-z0-9.-]*(\/[a-z0-9][a-z0-9.-]*)?$/;

/**
 * 'Did you mean --environment plant-1 or --site plant-1? ' for an argument that a verb does not take, and '' without such a flag.
 * @param word repeated only if it looks like a name
 */
export const suggestFlag = (word: string, flags: Readonly<Record<string, unknown>>): string => {
  if (!NAME.test(word)) return '';
  const named = (word.includes('/') ? ['channel'] : PLAIN).filter((name) => name in flags);
  const meant = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(
    named.map((name) => `--${name} ${word}`),
  );
  return meant && `Did you mean ${meant}? `;
};
