/** Sentences for the parse errors of oclif. The first pattern that matches is used. */
const SENTENCES: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
  [
    /^Missing \d+ required args?:? (.+?)(?: Note: .*)?$/,
    (list) => `the argument ${(list.split(' ')[0] ?? list).toUpperCase()} is missing`,
  ],
  [/^Nonexistent flags?: (.+)$/, (flags) => `there is no flag ${flags}`],
  [/^Flag (\S+) expects a value$/, (flag) => `${flag} requires a value`],
  [/^Flag (\S+) expects one of these values: (.+)$/, (flag, options) => `${flag} requires one of ${options}`],
  [
    /^Parsing (\S+) Expected an integer but received: (.*)$/,
    (flag, value) => `${flag} requires a whole number, not ${JSON.stringify(value)}`,
  ],
  [
    /^Parsing (\S+) Expected an integer (greater|less) than or equal to (\S+) but received: (.*)$/,
    (flag, side, bound, value) =>
      `${flag} requires a whole number of at ${side === 'greater' ? 'least' : 'most'} ${bound}, not ${value}`,
  ],
  [/^Parsing (\S+) (.+)$/, (flag, why) => `${flag}: ${why}`],
  [
    /^Expected (--\S+?)=(.*) to be one of: (.+)$/,
    (flag, value, options) => `${flag} must be one of ${options}, not ${JSON.stringify(value)}`,
  ],
  [
    /^Expected (.*) to be one of: (.+)$/,
    (value, options) => `${JSON.stringify(value)} is not one of ${options}`,
  ],
  [
    /^All of the following must be provided when using (--\S+): (.+)$/,
    (flag, others) => `${flag} requires ${others}`,
  ],
  [
    /^(--[^\s=]+)=.* cannot also be provided when using (--\S+)$/,
    (flag, other) => `${flag} and ${other} cannot be combined`,
  ],
  // A secret typed as <key>=<value> is not repeated.
  [
    /^Unexpected arguments?: (.+)$/,
    (list) => `there are too many arguments: ${list.replaceAll(/=[^,\s]+/g, '=...')}`,
  ],
  [/^Missing required flag (\S+)$/, (flag) => `--${flag.replace(/^--/, '')} is missing`],
];

/**
 * One sentence about a command line that oclif could not parse.
 * @param text the message of its error, which may have lines
 */
export const usageSentence = (text: string): string => {
  const plain = text
    .replace(/\s*See more help with --help\s*$/, '')
    .replace(/^The following errors? occurred:/, '')
    .trim();
  const missing = [...plain.matchAll(/Missing required flag (\S+)/g)].map(([, flag = '']) => `--${flag}`);
  if (missing.length > 1) return `${missing.slice(0, -1).join(', ')} and ${missing.at(-1)} are missing`;
  const line = plain.replaceAll(/\s+/g, ' ');
  for (const [pattern, sentence] of SENTENCES) {
    const found = pattern.exec(line);
    if (found) return sentence(...found.slice(1).map((part) => part ?? ''));
  }
  return line;
};
