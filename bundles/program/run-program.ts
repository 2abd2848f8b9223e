import { fileURLToPath } from 'node:url';
import { Config, Errors, flush, run } from '@oclif/core';
import { formatError, toFleetError } from '../errors.ts';
import { VERSION } from '../version.ts';

export type Program = {
  /** 'fleet-agent' */
  readonly name: string;
  readonly description: string;
  /** Module that exports COMMANDS, relative to the repository's root: './agent/commands.ts'. */
  readonly commands: string;
  /** Topics with more than one verb, for the help. */
  readonly topics?: Readonly<Record<string, { readonly description: string }>>;
};

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs one of the three programs: same look, same exit codes. Resolves when the command is done. */
export const runProgram = async (program: Program, argv: readonly string[]): Promise<void> => {
  try {
    const config = await Config.load({
      root: ROOT,
      pjson: {
        name: program.name,
        version: VERSION,
        description: program.description,
        oclif: {
          bin: program.name,
          topicSeparator: ' ',
          commands: { strategy: 'explicit', target: program.commands, identifier: 'COMMANDS' },
          topics: program.topics ?? {},
          additionalVersionFlags: ['-v'],
        },
      } as never,
    });
    await run([...argv], config);
    await flush();
  } catch (error) {
    if (error instanceof Errors.ExitError) {
      process.exitCode = error.oclif.exit ?? 0;
      return;
    }
    // A command that does not exist never reaches FleetCommand.
    const unknown = error instanceof Errors.CLIError;
    process.exitCode = unknown ? 2 : 1;
    const text = unknown
      ? `USAGE: ${error.message.replaceAll('\n', ' ')}. See ${program.name} --help`
      : formatError(toFleetError(error));
    process.stderr.write(`${program.name}: ${text}\n`);
  }
};
