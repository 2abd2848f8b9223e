import { expect, it } from 'vitest';
import { COMMANDS as AGENT } from '../../agent/commands.ts';
import { loadCommands } from '../../cli/commands.ts';
import { COMMANDS as EXPORTER } from '../../exporter/commands.ts';
import { COMMANDS as SCHEDULER } from '../../scheduler/commands.ts';

/** The class of a command, or a class above it, that declares the arguments. */
const declaringClass = (command: object): object =>
  Object.hasOwn(command, 'args') ? command : declaringClass(Object.getPrototypeOf(command) as object);

/** oclif copies the static fields of the class that a command gives to parse(), and inherited ones are not copied. */
it.each(Object.entries({ AGENT, EXPORTER, SCHEDULER }))(
  'arguments are parsed by the class that declares them: %s',
  async (_program, commands) => {
    const loaded = await loadCommands(commands);
    const others = Object.entries(loaded).filter(([, command]) => {
      if (Object.keys(command.args ?? {}).length === 0 || Object.hasOwn(command, 'args')) return false;
      const declared = declaringClass(command) as { readonly name: string };
      return !Function.prototype.toString.call(declared).includes(`parse(${declared.name})`);
    });
    expect(others.map(([id]) => id)).toEqual([]);
  },
);
