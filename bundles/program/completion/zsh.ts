import type { CompletedChild, CompletedFlag, CompletedValue, CompletedVerb } from './describe-verbs.ts';

/** A script for zsh, to be sourced or put in a folder of $fpath as '_<program>'. */
export const zshScript = (
  program: string,
  verbs: readonly CompletedVerb[],
  children: ReadonlyMap<string, readonly CompletedChild[]>,
): string => {
  const name = `_${program}`;
  return `#compdef ${program}
# zsh completion for ${program}: source <(${program} completion zsh), after compinit
${name}() {
  local verb='' word
  local -i at=2
  while (( at < CURRENT )); do
    word=$words[at]
    case "\${verb:+$verb }$word" in
      ${[...new Set([...verbs.map(({ words }) => words), ...[...children.keys()].filter(Boolean)])].map(quote).join(' | ')}) verb="\${verb:+$verb }$word" ;;
      *) break ;;
    esac
    (( at++ ))
  done
  local -a below
  case $verb in
${[...children].map(([parent, words]) => `    ${quote(parent)}) below=(${words.map(({ word, summary }) => quote(`${word}:${summary}`)).join(' ')}) ;;`).join('\n')}
  esac
  if (( CURRENT == at && $#below )) && [[ $PREFIX != -* ]]; then
    _describe 'verb' below
    return
  fi
  # _arguments counts from the verb on.
  words=("\${(@)words[at-1,-1]}")
  (( CURRENT -= at - 2 ))
  case $verb in
${verbs.map(verbCase).join('\n')}
    *) _arguments '--help[Show help]' '--version[Show the version]' ;;
  esac
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi
`;
};

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** What _arguments would take for its own punctuation. */
const escape = (text: string): string => text.replaceAll(/[[\]:\\]/g, String.raw`\$&`);

const actionOf = (value: CompletedValue): string => {
  switch (value.kind) {
    case 'words':
      return `(${value.words.join(' ')})`;
    case 'path':
      return '_files';
    case 'other':
      return ' ';
  }
};

// '*': a flag may come again; oclif refuses what may not.
const flagSpec = ({ name, description, value }: CompletedFlag): string =>
  quote(`*${name}${value ? '=' : ''}[${escape(description)}]${value ? `:value:${actionOf(value)}` : ''}`);

const verbCase = ({ words, flags, args }: CompletedVerb): string => {
  const specs = [
    ...flags.map(flagSpec),
    ...args.map((value, index) => quote(`${index + 1}:argument:${actionOf(value)}`)),
  ];
  return `    ${quote(words)})\n      _arguments \\\n        ${specs.join(' \\\n        ')} ;;`;
};
