import type { Command } from '@oclif/core';

/** A command, or the function that loads it: unused commands are not loaded. */
export type CommandSource = Command.Class | (() => Promise<{ readonly default: Command.Class }>);

/** Verbs by oclif id: 'create', 'reports:export'. */
export type Commands = Readonly<Record<string, CommandSource>>;

const isClass = (source: CommandSource): source is Command.Class => 'run' in source;

/** @param ids default: all */
export const loadCommands = async (
  commands: Commands,
  ids: readonly string[] = Object.keys(commands),
): Promise<Readonly<Record<string, Command.Class>>> => {
  const load = async (id: string, source: CommandSource): Promise<readonly [string, Command.Class]> => [
    id,
    isClass(source) ? source : (await source()).default,
  ];
  const wanted = Object.entries(commands).filter(([id]) => ids.includes(id));
  return Object.fromEntries(await Promise.all(wanted.map(([id, source]) => load(id, source))));
};

/**
 * Returns the ids that a command line refers to: the named verb and those below it, the verbs of a topic, or all for the list
 * of verbs. Empty for an unknown verb.
 * @param ids all there are @param argv 'reports export --json', in words
 */
export const chooseCommands = (ids: readonly string[], argv: readonly string[]): readonly string[] => {
  const words = leadingWords(argv);
  if (words.length === 0) return VERSION.includes(argv[0] ?? '') ? [] : ids;
  for (let count = words.length; count > 0; count -= 1) {
    const named = words.slice(0, count).join(':');
    const found = ids.filter((id) => id === named || id.startsWith(`${named}:`));
    if (found.length > 0) return found;
  }
  return [];
};

/** The words before the first flag. */
export const leadingWords = (argv: readonly string[]): readonly string[] => {
  const flagAt = argv.findIndex((word) => word.startsWith('-'));
  return flagAt === -1 ? argv : argv.slice(0, flagAt);
};

const VERSION: readonly string[] = ['--version', '-v'];
