import { Args, type Command } from '@oclif/core';
import { plainLine } from '#bundles/errors';
import { chooseCommands, loadCommands } from './commands.ts';
import { FleetCommand } from './fleet-command.ts';
import { loadConfig, type Program } from './load-config.ts';

/** A word that may come next. */
type Candidate = { readonly word: string; readonly description: string };

/** Completions for the next word: words, files and folders, or both. */
type Candidates = { readonly words: readonly Candidate[]; readonly paths: boolean };

/** The line of `__complete` that asks the shell for files and folders. */
const PATHS = ':paths';

/** Each script asks the program with every Tab, so that a script that was saved is never out of date. */
const SCRIPTS: Readonly<Record<string, (program: string, name: string) => string>> = {
  // Bash 4 and newer, without the package bash-completion. Bash shows no descriptions.
  bash: (program, name) => `# bash completion for ${program}: source <(${program} completion bash)
${name}() {
  local word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    if [[ $word == ${PATHS} ]]; then
      word=\${COMP_WORDS[COMP_CWORD]}
      compopt -o filenames 2> /dev/null
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "\${word#=}")
    else
      COMPREPLY+=("$word")
    fi
  done < <(${program} __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -F ${name} ${program}`,
  zsh: (program, name) => `#compdef ${program}
# zsh completion for ${program}: source <(${program} completion zsh), after compinit
${name}() {
  local line paths
  local -a found
  for line in "\${(@f)$(${program} __complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    if [[ $line == ${PATHS} ]]; then paths=1
    elif [[ -n $line ]]; then line=\${line//:/\\\\:}; found+=("\${line/$'\\t'/:}"); fi
  done
  (( $#found )) && _describe '${program}' found
  if [[ -n $paths ]]; then compset -P '*='; _files; fi
}
if [[ $funcstack[1] == ${name} ]]; then ${name} "$@"; else compdef ${name} ${program}; fi`,
  // fish 3.4 and newer.
  fish: (program, name) => `# fish completion for ${program}: ${program} completion fish | source
function ${name}
    set -l token "$(commandline -ct)"
    for line in (${program} __complete -- (commandline -opc)[2..] $token 2> /dev/null)
        if test "$line" = ${PATHS}
            set -l flag (string match -r -- '^-[^=]*=' $token)
            __fish_complete_path (string replace -- "$flag" '' $token) | string replace -r '^' -- "$flag"
        else
            echo $line
        end
    end
end
complete -c ${program} -f -a '(${name})'`,
};

export class Completion extends FleetCommand {
  static override summary = 'Print the script that completes verbs, flags and values in your shell';
  static override examples = [
    'source <(<%= config.bin %> completion bash)',
    '<%= config.bin %> completion zsh > "${fpath[1]}/_<%= config.bin %>"',
    '<%= config.bin %> completion fish > ~/.config/fish/completions/<%= config.bin %>.fish',
  ];
  static override args = {
    shell: Args.string({ required: true, options: Object.keys(SCRIPTS), description: 'Which shell' }),
  };

  async run(): Promise<{ readonly shell: string; readonly script: string }> {
    const { args } = await this.parse(Completion);
    const { bin } = this.config;
    const script = `${SCRIPTS[args.shell]?.(bin, `_${bin.replaceAll('-', '_')}`)}\n`;
    this.logText(script.trimEnd());
    return { shell: args.shell, script };
  }
}

/** The verb that the scripts call with the words of a command line, of which the last is to be completed. */
export const completeCommand = (program: Program): Command.Class =>
  class Complete extends FleetCommand {
    static override hidden = true;
    static override strict = false;
    static override summary = 'Print completions of a command line, for the completion scripts';
    static override examples = ['<%= config.bin %> __complete -- completion z'];

    async run(): Promise<Candidates> {
      await this.parse(Complete);
      // The parser drops a second '--', which may be the word to complete.
      const found = await candidatesFor(program, this.argv.slice(this.argv.indexOf('--') + 1));
      for (const { word, description } of found.words)
        this.logText(
          [word, description]
            .filter((part) => part !== '')
            .map(plainLine)
            .join('\t'),
        );
      if (found.paths) this.log(PATHS);
      return found;
    }
  };

/** Names that the program knows for an argument or flag, such as sites. */
type KnownNames = (name: string) => Promise<readonly Candidate[]>;

/** Values of a flag. @param word the word to complete, and its part that stays: '--site=' */
const valueCandidates = async (
  flag: Parameters<typeof valuesOf>[0] & { readonly name: string },
  known: KnownNames,
  { last, prefix }: { readonly last: string; readonly prefix: string },
): Promise<Candidates> => {
  const { words, paths } = valuesOf(flag);
  const values = [...words, ...(await known(flag.name))];
  const prefixed = values.map((one) => ({ ...one, word: prefix + one.word }));
  return { words: startingWith(last === '=' ? '' : last, prefixed), paths };
};

/** @param line words after the program's name; bash makes a word of its own of '=' */
const candidatesFor = async (program: Program, line: readonly string[]): Promise<Candidates> => {
  const last = line.at(-1) ?? '';
  const before = line.slice(0, -1);
  const ids = Object.keys(program.commands);
  const path = verbOf(before, ids);

  const { commands } = await loadConfig(
    program,
    await loadCommands(program.commands, chooseCommands(ids, path)),
  );
  const verb = commands.find(({ id }) => id === path.join(':'));
  const flags = Object.values(verb?.flags ?? {}).filter(({ hidden }) => !hidden);

  const { given, prefix } = flagBefore(before, last);
  const flag = flags.find(
    ({ name, char, type }) => type === 'option' && [`--${name}`, `-${char}`].includes(given),
  );
  const known: KnownNames = async (name) =>
    ((await program.names?.(name, before)) ?? []).map((word) => ({ word, description: '' }));
  if (flag?.type === 'option') return await valueCandidates(flag, known, { last, prefix });

  const args = Object.values(verb?.args ?? {});
  const values = args.map(valuesOf);
  const names = last.startsWith('-') ? [] : (await Promise.all(args.map(({ name }) => known(name)))).flat();
  const paths = values.some((value) => value.paths) && !last.startsWith('-');
  const named = [
    ...(path.length === before.length ? childrenOf(path, commands, program.topics ?? {}) : []),
    ...values.flatMap(({ words }) => words),
    ...new Map(names.map((one) => [one.word, one])).values(),
  ];
  const wantsFlags = last.startsWith('-') || (named.length === 0 && !paths);
  const atTop = before.length === 0 ? [{ word: '--version', description: 'Show the version' }] : [];
  const help = { word: '--help', description: 'Show help' };
  const words = wantsFlags ? [...flags.flatMap(namesOf), help, ...atTop] : named;
  return { words: startingWith(last, words), paths };
};

/** The words at the beginning that are a verb, or the beginning of one. @param ids of the verbs */
const verbOf = (words: readonly string[], ids: readonly string[]): readonly string[] => {
  const isVerb = (some: readonly string[]) => ids.some((id) => `${id}:`.startsWith(`${some.join(':')}:`));
  const end = words.findIndex((_, at) => !isVerb(words.slice(0, at + 1)));
  return end === -1 ? words : words.slice(0, end);
};

/** The word that may be a flag whose value comes next, and what of the last word stands before that value: '--flag=' in one word. */
const flagBefore = (
  before: readonly string[],
  last: string,
): { readonly given: string; readonly prefix: string } => {
  const prefix = /^--[^=]+=/.exec(last)?.[0];
  if (prefix !== undefined) return { given: prefix.slice(0, -1), prefix };
  const isSplit = last !== '=' && before.at(-1) === '=';
  return { given: before.at(isSplit ? -2 : -1) ?? '', prefix: '' };
};

const startingWith = (start: string, words: readonly Candidate[]): readonly Candidate[] =>
  words.filter(({ word }) => word.startsWith(start));

/** The verbs and topics below a topic, or below the program. */
const childrenOf = (
  path: readonly string[],
  commands: readonly Command.Loadable[],
  topics: NonNullable<Program['topics']>,
): readonly Candidate[] => {
  const prefix = path.map((word) => `${word}:`).join('');
  const below = commands.filter(({ id, hidden }) => !hidden && id.startsWith(prefix));
  const words = new Set(below.map(({ id }) => id.slice(prefix.length).split(':')[0] ?? ''));
  return [...words].map((word) => {
    const verb = below.find(({ id }) => id === prefix + word);
    const description = verb?.summary ?? verb?.description ?? topics[prefix + word]?.description;
    return { word, description: firstLine(description) };
  });
};

const namesOf = (flag: Command.Flag.Cached): readonly Candidate[] => {
  const negated = flag.type === 'boolean' && flag.allowNo ? [`--no-${flag.name}`] : [];
  const short = flag.char ? [`-${flag.char}`] : [];
  const description = firstLine(flag.summary ?? flag.description);
  return [`--${flag.name}`, ...negated, ...short].map((word) => ({ word, description }));
};

const firstLine = (text = ''): string => text.split('\n')[0] ?? '';

/** Words in descriptions of values that are paths. Completing a path that is not needed costs less than typing one. */
const PATH = /\b(file|folder|directory|layout|medium|tar|path|PEM)\b/i;
/** 'SHA-256 of a root file' is not a path. */
const NO_PATH = /^(SHA-256|URL|Name)\b/;

const valuesOf = ({
  options = [],
  description = '',
}: {
  readonly options?: readonly string[] | undefined;
  readonly description?: string | undefined;
}): Candidates => ({
  words: options.map((word) => ({ word, description: '' })),
  paths: options.length === 0 && PATH.test(description) && !NO_PATH.test(description),
});
