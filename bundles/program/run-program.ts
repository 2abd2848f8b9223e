import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Config, Errors, run } from '@oclif/core';
import { FleetError, formatError, toFleetError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { errorJson, usageError } from './fleet-command.ts';

export type Program = {
  /** 'fleet-agent' */
  readonly name: string;
  readonly description: string;
  /** URL of the module that exports COMMANDS. */
  readonly commands: string;
  /** Topics with more than one verb, for the help. */
  readonly topics?: Readonly<Record<string, { readonly description: string }>>;
};

/** Runs one of the three programs: same look, same exit codes. Resolves when the command is done. */
export const runProgram = async (program: Program, argv: readonly string[]): Promise<void> => {
  try {
    const commands = fileURLToPath(program.commands);
    const config = await Config.load({
      root: dirname(commands),
      pjson: {
        name: program.name,
        version: VERSION,
        description: program.description,
        oclif: {
          bin: program.name,
          topicSeparator: ' ',
          commands: { strategy: 'explicit', target: `./${basename(commands)}`, identifier: 'COMMANDS' },
          topics: program.topics ?? {},
          additionalVersionFlags: ['-v'],
        },
      } as never,
    });
    // Nothing here ends the process, so what was written gets out by itself; oclif's flush would wait for ever for a
    // reader that is gone, as in `--help | head -1`.
    await run([...argv], config);
  } catch (error) {
    if (error instanceof Errors.ExitError) {
      process.exitCode = error.oclif.exit ?? 0;
      return;
    }
    // A command that does not exist never reaches FleetCommand.
    const refusal = error instanceof Errors.CLIError ? unknownCommand(program, error) : toFleetError(error);
    process.exitCode = refusal.exitCode;
    if (argv.includes('--json')) process.stdout.write(`${JSON.stringify(errorJson(refusal), null, 2)}\n`);
    else process.stderr.write(`${program.name}: ${formatError(refusal)}\n`);
  }
};

/** oclif joins topic and verb with a colon, which nobody typed. */
const unknownCommand = (program: Program, error: Errors.CLIError): FleetError => {
  const hint = `See ${program.name} --help`;
  const id = /^command (\S+) not found$/.exec(error.message)?.[1];
  return id === undefined
    ? usageError(error, hint)
    : new FleetError('USAGE', `there is no command ${JSON.stringify(id.replaceAll(':', ' '))}`, { hint });
};
