import type { Command } from '@oclif/core';

/** A flag as a shell completes it. */
export type CompletedFlag = {
  /** '--from', '--no-read-back', '-v' */
  readonly name: string;
  readonly description: string;
  readonly value: CompletedValue | undefined;
};

/** What may stand there: one of these words, a path, or something that only a person knows. */
export type CompletedValue =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'path' }
  | { readonly kind: 'other' };

export type CompletedVerb = {
  /** 'reports export' */
  readonly words: string;
  readonly summary: string;
  readonly flags: readonly CompletedFlag[];
  /** Arguments by position. */
  readonly args: readonly CompletedValue[];
};

/** A topic or verb below another one, or below the program. */
export type CompletedChild = { readonly word: string; readonly summary: string };

/** Verbs as oclif knows them, in the form that the scripts are made of; sorted as oclif does. */
export const describeVerbs = (commands: readonly Command.Loadable[]): readonly CompletedVerb[] =>
  commands
    .filter(({ hidden }) => !hidden)
    .map(({ id, summary, description, flags, args }) => ({
      words: id.replaceAll(':', ' '),
      summary: firstLine(summary ?? description),
      flags: [...Object.values(flags).flatMap(describeFlag), HELP],
      args: Object.values(args).map(({ options, description: text }) => valueOf(options, text)),
    }));

/** The words that may follow each of '', 'reports', ...: verbs and topics, each once. */
export const childrenOf = (
  verbs: readonly CompletedVerb[],
  topics: Readonly<Record<string, { readonly description: string }>>,
): ReadonlyMap<string, readonly CompletedChild[]> => {
  const children = new Map<string, Map<string, string>>();
  for (const { words, summary } of verbs) {
    const path = words.split(' ');
    for (const [depth, word] of path.entries()) {
      const parent = path.slice(0, depth).join(' ');
      const siblings = children.get(parent) ?? new Map<string, string>();
      children.set(parent, siblings);
      const isVerb = depth === path.length - 1;
      const topic = topics[path.slice(0, depth + 1).join(':')]?.description;
      if (isVerb || !siblings.has(word)) siblings.set(word, isVerb ? summary : (topic ?? ''));
    }
  }
  return new Map(
    [...children].map(([parent, words]) => [
      parent,
      [...words].map(([word, summary]) => ({ word, summary })),
    ]),
  );
};

const HELP: CompletedFlag = { name: '--help', description: 'Show help', value: undefined };

const describeFlag = (flag: Command.Flag.Cached): readonly CompletedFlag[] => {
  if (flag.hidden) return [];
  const description = firstLine(flag.summary ?? flag.description);
  const value = flag.type === 'option' ? valueOf(flag.options, flag.description) : undefined;
  const names = [
    `--${flag.name}`,
    ...(flag.type === 'boolean' && flag.allowNo ? [`--no-${flag.name}`] : []),
    ...(flag.char ? [`-${flag.char}`] : []),
  ];
  return names.map((name) => ({ name, description, value }));
};

const firstLine = (text = ''): string => text.split('\n')[0] ?? '';

/** What a person is told to give there. Better a path too many than one that has to be typed. */
const PATH = /\b(file|folder|directory|layout|medium|tar|path|PEM)\b/i;
/** 'SHA-256 of a root file' is none. */
const NO_PATH = /^(SHA-256|URL|Name)\b/;

const valueOf = (options: readonly string[] | undefined, description = ''): CompletedValue => {
  if (options && options.length > 0) return { kind: 'words', words: options };
  return PATH.test(description) && !NO_PATH.test(description) ? { kind: 'path' } : { kind: 'other' };
};
