import type { CompletedChild, CompletedValue, CompletedVerb } from './describe-verbs.ts';

/** A script for bash 4 and newer; needs no bash-completion package. Bash shows no descriptions. */
export const bashScript = (
  program: string,
  verbs: readonly CompletedVerb[],
  children: ReadonlyMap<string, readonly CompletedChild[]>,
): string => {
  const name = `_${program.replaceAll('-', '_')}`;
  return `# bash completion for ${program}: source <(${program} completion bash)
${name}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} verb='' words='' paths='' i word
  COMPREPLY=()
  # '=' is a word of its own here.
  if [[ $cur == = ]]; then cur=''
  elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${verb:+$verb }$word" in
      ${namesOf(verbs, children).map(quote).join(' | ')}) verb="\${verb:+$verb }$word" ;;
      *) break ;;
    esac
  done
  case "$verb $prev" in
${verbs.flatMap((verb) => flagCases(verb)).join('\n')}
    *)
      case $verb in
${namesOf(verbs, children)
  .map((words) => verbCase(words, verbs, children))
  .join('\n')}
        '') words=${quote([...(children.get('') ?? []).map(({ word }) => word), '--help', '--version'].join(' '))} ;;
      esac
      if [[ $cur == -* ]]; then paths=''; fi
      ;;
  esac
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(
    compgen -W "$words" -- "$cur"
    [[ -n $paths ]] && compgen -f -- "$cur"
  )
  if [[ -n $paths ]]; then compopt -o filenames 2> /dev/null; fi
}
complete -F ${name} ${program}
`;
};

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const namesOf = (
  verbs: readonly CompletedVerb[],
  children: ReadonlyMap<string, readonly CompletedChild[]>,
): readonly string[] => [
  ...new Set([...verbs.map(({ words }) => words), ...[...children.keys()].filter(Boolean)]),
];

const settings = (value: CompletedValue): string => {
  switch (value.kind) {
    case 'words':
      return `words=${quote(value.words.join(' '))}`;
    case 'path':
      return 'paths=1';
    case 'other':
      return ':';
  }
};

/** After a flag that wants a value. */
const flagCases = ({ words, flags }: CompletedVerb): readonly string[] =>
  flags.flatMap(({ name, value }) =>
    value ? [`    ${quote(`${words} ${name}`)}) ${settings(value)} ;;`] : [],
  );

const verbCase = (
  words: string,
  verbs: readonly CompletedVerb[],
  children: ReadonlyMap<string, readonly CompletedChild[]>,
): string => {
  const verb = verbs.find((it) => it.words === words);
  const below = (children.get(words) ?? []).map(({ word }) => word);
  const values = (verb?.args ?? []).flatMap((arg) => (arg.kind === 'words' ? arg.words : []));
  const flags = verb ? verb.flags.map(({ name }) => name) : ['--help'];
  const paths = verb?.args.some(({ kind }) => kind === 'path') ? '; paths=1' : '';
  return `        ${quote(words)}) words=${quote([...below, ...values, ...flags].join(' '))}${paths} ;;`;
};
