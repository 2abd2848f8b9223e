import { EXIT_CODES } from '#cli/help-command';
import type { Program } from '#cli/load-config';
import {
  examplesOf,
  flagWords,
  shownFlags,
  usageOf,
  type Verb,
  verbsOf,
} from '../../docs/generate-commands.ts';

export type ManPage = { readonly version: string; readonly date: Date; readonly files: readonly string[] };

/** The man page of a program in roff (man(7)), from the metadata that `--help` shows. */
export const manPage = async (program: Program, { version, date, files }: ManPage): Promise<string> => {
  const { name, description } = program;
  const day = date.toISOString().slice(0, 10);
  const verbs = await verbsOf(program);
  const exits = Object.entries(EXIT_CODES).map(([exit, { meaning }]) => item(exit, meaning));
  const parts = [
    `.TH ${name.toUpperCase().replaceAll('-', '\\-')} 1 "${day}" "${name} ${version}" "Fleet Ferry"`,
    section('NAME', `${roff(name)} \\- ${roff(description.replace(/\.$/, ''))}`),
    section('SYNOPSIS', `.B ${roff(name)}\n.I VERB\n[arguments] [flags]`),
    section(
      'DESCRIPTION',
      roff(
        `${description}\nEvery verb also has --help, and --json, which prints its result, or its error, as one JSON document.`,
      ),
    ),
    '.SH VERBS',
    ...verbs.map((verb) => verbPart(name, verb)),
    section('EXIT STATUS', exits.join('\n')),
    ...(files.length > 0
      ? [section('FILES', files.map((file) => `.TP\n.I ${roff(`/${file}`)}`).join('\n'))]
      : []),
  ];
  return `${parts.join('\n')}\n`;
};

const section = (title: string, body: string): string => `.SH ${title}\n${body}`;

const item = (head: string, text: string): string => `.TP\n.B ${roff(head)}\n${roff(text)}`;

const verbPart = (name: string, verb: Verb): string => {
  const { summary, description, args } = verb.command;
  const texts = [summary, description].filter((text) => text !== undefined);
  const argItems = Object.entries(args ?? {}).map(([arg, { description: about = '' }]) =>
    item(arg.toUpperCase(), about),
  );
  const flags = shownFlags(verb.command).map(([flag, it]) =>
    item(flagWords(flag, it), `${it.description ?? ''}${it.env ? ` Environment: ${it.env}.` : ''}`),
  );
  return [
    `.SS ${roff(verb.words)}`,
    `.B ${roff(usageOf(name, verb))}`,
    ...texts.map((text) => `.PP\n${roff(text)}`),
    ...argItems,
    ...flags,
    `.PP\nExamples:\n.PP\n.nf\n${roff(examplesOf(name, verb).join('\n'))}\n.fi`,
  ].join('\n');
};

/** Text as roff shows it unchanged: a hyphen that can be copied, and no line that is taken for a request. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(
      /[^\0-\x7f]/gu,
      (character) => `\\[u${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}]`,
    )
    .replaceAll(/^(?=[.'])/gm, '\\&')
    .replaceAll(/\n{2,}/g, '\n.PP\n');
