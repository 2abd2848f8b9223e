import { type Command, CommandHelp } from '@oclif/core';
import { describe, expect, it } from 'vitest';
import { loadCommands } from '#cli/commands';
import { loadConfig, type Program } from '#cli/load-config';
import { withStandard } from '#cli/run-program';
import { COMMANDS as agent } from '../../agent/commands.ts';
import { COMMANDS as exporter } from '../../exporter/commands.ts';
import { COMMANDS as scheduler } from '../../scheduler/commands.ts';

/** What every verb of the three programs owes to its user. */
const program = (name: string, commands: Program['commands']): Program => ({
  name,
  description: '',
  commands,
});

const PROGRAMS = [
  program('fleet-scheduler', scheduler),
  program('fleet-export', exporter),
  program('fleet-agent', agent),
];

const verbs = await Promise.all(
  PROGRAMS.map(async (it) =>
    Object.entries(await loadCommands(withStandard(it))).map(
      ([id, command]) => [`${it.name} ${id.replaceAll(':', ' ')}`, command] as const,
    ),
  ),
);

const firstLine = ({ summary, description }: Command.Class): string =>
  (summary ?? description ?? '').split('\n')[0] ?? '';

/** The class of a command, or a class above it, that declares the arguments. */
const declaringClass = (command: object): object =>
  Object.hasOwn(command, 'args') ? command : declaringClass(Object.getPrototypeOf(command) as object);

describe.each(verbs.flat())('%s', (_name, command) => {
  it('has a one-line description', () => {
    expect(firstLine(command)).toMatch(/^\S.{9,}$/);
  });

  it('has an example', () => {
    expect(command.examples ?? []).not.toEqual([]);
  });

  it('has --json', () => {
    expect(command.enableJsonFlag).toBe(true);
  });

  it('has a description for every flag and argument', () => {
    const described = Object.entries({ ...command.baseFlags, ...command.flags, ...command.args });
    expect(described.filter(([, { description }]) => !description).map(([name]) => name)).toEqual([]);
  });

  // oclif copies the static fields of the class that a command gives to parse(), and inherited ones are not copied.
  it('parses arguments by the class that declares them', () => {
    if (Object.keys(command.args ?? {}).length === 0 || Object.hasOwn(command, 'args')) return;
    const declared = declaringClass(command) as { readonly name: string };
    expect(Function.prototype.toString.call(declared)).toContain(`parse(${declared.name})`);
  });
});

describe('all verbs', () => {
  it('have usage lines without an empty alternative such as [--agent | ]', async () => {
    const lines: string[] = [];
    for (const it of PROGRAMS) {
      const config = await loadConfig(it, await loadCommands(withStandard(it)));
      for (const command of config.commands)
        lines.push(
          ...(/USAGE\n(.*)/.exec(new CommandHelp(command, config, { maxWidth: 1e4 }).generate())?.slice(1) ??
            []),
        );
    }
    expect(lines).toHaveLength(verbs.flat().length);
    expect(lines.filter((line) => /\[\s|[|\s]\]/.test(line))).toEqual([]);
  });

  it('are those of the programs and the three standard ones', () => {
    expect(verbs.map((list) => list.length)).toEqual(
      PROGRAMS.map((it) => Object.keys(it.commands).length + 3),
    );
  });
});
