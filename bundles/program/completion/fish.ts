import type { CompletedChild, CompletedFlag, CompletedValue, CompletedVerb } from './describe-verbs.ts';

/** A script for fish 3.4 and newer. */
export const fishScript = (
  program: string,
  verbs: readonly CompletedVerb[],
  children: ReadonlyMap<string, readonly CompletedChild[]>,
): string => {
  const at = `__${program.replaceAll('-', '_')}_at`;
  const names = [...new Set([...verbs.map(({ words }) => words), ...[...children.keys()].filter(Boolean)])];
  const when = (words: string): string => `complete -c ${program} -n ${quote(`${at} ${quote(words)}`)}`;
  return `# fish completion for ${program}: ${program} completion fish | source
function ${at} -a wanted
    set -l verb
    for word in (commandline -opc)[2..]
        set -l longer (string join ' ' -- $verb $word)
        contains -- $longer ${names.map(quote).join(' ')}
        or break
        set verb $longer
    end
    test "$verb" = "$wanted"
end
complete -c ${program} -f
${when('')} -l help -d 'Show help'
${when('')} -l version -d 'Show the version'
${[...children].flatMap(([parent, words]) => words.map(({ word, summary }) => `${when(parent)} -a ${word} -d ${quote(summary)}`)).join('\n')}
${verbs.flatMap(({ words, flags, args }) => [...flags.map((flag) => `${when(words)} ${flagWords(flag)}`), ...args.flatMap((arg) => argWords(arg).map((text) => `${when(words)} ${text}`))]).join('\n')}
`;
};

const quote = (text: string): string =>
  `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;

const flagWords = ({ name, description, value }: CompletedFlag): string => {
  const long = name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`;
  return `${long}${value ? ` ${valueWords(value)}` : ''} -d ${quote(description)}`;
};

const valueWords = (value: CompletedValue): string => {
  switch (value.kind) {
    case 'words':
      return `-x -a ${quote(value.words.join(' '))}`;
    case 'path':
      return '-r -F';
    case 'other':
      return '-x';
  }
};

const argWords = (value: CompletedValue): readonly string[] => {
  switch (value.kind) {
    case 'words':
      return [`-a ${quote(value.words.join(' '))}`];
    case 'path':
      return ['-F'];
    case 'other':
      return [];
  }
};
